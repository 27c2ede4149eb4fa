// SPDX-License-Identifier: MIT
// Translations: the current domain of a namespace, and where it has bound its domains to.
//
// The C library has one current domain for the process, and one directory and one character set
// for each name of a domain: programs that bind the same name to their own directories would get
// each other's messages, and the host would get theirs. It builds the name of a catalogue as
// DIRECTORY/LOCALE/CATEGORY/DOMAIN.mo, so the domains `./foo` and `././foo` are the same file and
// different bindings: each directory and character set that some namespace has a domain in gets
// one of these names, for the life of the process. The plain name is the host's.
//
// Translations follow the thread's locale, as in the C library, and LANGUAGE of the process.

#define _GNU_SOURCE
#include "process/part.h"

#include <errno.h>
#include <libintl.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_DOMAIN "messages"

// A name that was given to the C library; it is kept for the life of the process.
struct alias {
	struct alias *next;
	char *domain, *directory, *codeset; // the last two may be NULL: the C library's own
	char name[];			    // `././domain`
};

// A domain that the namespace has used.
struct binding {
	struct binding *next;
	char *directory, *codeset; // or NULL
	const struct alias *alias; // or NULL: not yet
	char domain[];
};

struct domains {
	char *current; // or NULL: the first one
	struct binding *bindings;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // a leaf
static struct alias *aliases;

// --- names for the C library -------------------------------------------------------------------

static bool is_same(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static void free_alias(struct alias *alias)
{
	free(alias->domain);
	free(alias->directory);
	free(alias->codeset);
	free(alias);
}

static bool copy_text(const char *from, char **to)
{
	*to = from ? strdup(from) : NULL;
	return *to || !from;
}

// A new name for a domain that has @count names already.
static struct alias *add_alias(const struct binding *binding, size_t count)
{
	size_t prefix = 2 * (count + 1);
	struct alias *alias = calloc(1, sizeof(*alias) + prefix + strlen(binding->domain) + 1);

	if (!alias)
		return NULL;
	for (size_t i = 0; i < prefix; i += 2)
		memcpy(alias->name + i, "./", 2);
	strcpy(alias->name + prefix, binding->domain);
	if (!copy_text(binding->domain, &alias->domain) ||
	    !copy_text(binding->directory, &alias->directory) ||
	    !copy_text(binding->codeset, &alias->codeset) ||
	    (alias->directory && !bindtextdomain(alias->name, alias->directory)) ||
	    (alias->codeset && !bind_textdomain_codeset(alias->name, alias->codeset))) {
		free_alias(alias);
		return NULL;
	}
	alias->next = aliases;
	aliases = alias;
	return alias;
}

static const struct alias *find_alias(const struct binding *binding)
{
	size_t count = 0;

	for (struct alias *alias = aliases; alias; alias = alias->next) {
		if (strcmp(alias->domain, binding->domain))
			continue;
		if (is_same(alias->directory, binding->directory) &&
		    is_same(alias->codeset, binding->codeset))
			return alias;
		count++;
	}
	return add_alias(binding, count);
}

// --- domains of a namespace ------------------------------------------------------------------

static struct binding *find_binding(struct domains *state, const char *domain)
{
	size_t size = strlen(domain) + 1;
	struct binding *binding = state->bindings;

	while (binding && strcmp(binding->domain, domain))
		binding = binding->next;
	if (binding)
		return binding;
	binding = calloc(1, sizeof(*binding) + size);
	if (!binding)
		return NULL;
	memcpy(binding->domain, domain, size);
	binding->next = state->bindings;
	state->bindings = binding;
	return binding;
}

static const char *current_domain(const struct domains *state)
{
	return state->current ?: FIRST_DOMAIN;
}

// The C library's name for a domain of the namespace, or NULL: no memory.
static const char *name_of(struct domains *state, const char *domain)
{
	struct binding *binding;
	const char *ret = NULL;

	pthread_mutex_lock(&lock);
	binding = find_binding(state, domain ?: current_domain(state));
	if (binding && !binding->alias)
		binding->alias = find_alias(binding);
	if (binding && binding->alias)
		ret = binding->alias->name;
	pthread_mutex_unlock(&lock);
	return ret;
}

// --- the names -----------------------------------------------------------------------------------

static char *set_domain(const char *domain, struct domains *state)
{
	char *copy = NULL;

	if (domain && *domain && strcmp(domain, FIRST_DOMAIN) && !(copy = strdup(domain)))
		return NULL;
	pthread_mutex_lock(&lock);
	if (domain) {
		free(state->current);
		state->current = copy;
	}
	copy = (char *)current_domain(state);
	pthread_mutex_unlock(&lock);
	return copy;
}

// The C library's binding of a domain that the namespace has not bound.
static char *default_directory(void)
{
	return bindtextdomain("./././", NULL);
}

// Set the directory or the character set of a domain, which is at @offset in its binding. Returns
// the text now; NULL: the default, or no memory.
static char *bind_text(const char *domain, const char *value, size_t offset, struct domains *state)
{
	struct binding *binding;
	char **text = NULL, *copy = NULL;

	if (!domain || !*domain)
		return NULL;
	pthread_mutex_lock(&lock);
	binding = find_binding(state, domain);
	if (binding)
		text = (char **)((char *)binding + offset);
	if (!text || !value || is_same(*text, value)) {
		copy = text ? *text : NULL;
	} else if ((copy = strdup(value))) {
		free(*text);
		*text = copy;
		binding->alias = NULL;
	}
	pthread_mutex_unlock(&lock);
	return copy;
}

static char *bind_directory(const char *domain, const char *directory, struct domains *state)
{
	char *ret = bind_text(domain, directory, offsetof(struct binding, directory), state);

	return ret || directory || !domain || !*domain ? ret : default_directory();
}

static char *bind_codeset(const char *domain, const char *codeset, struct domains *state)
{
	return bind_text(domain, codeset, offsetof(struct binding, codeset), state);
}

static char *domains_translate(const char *domain, const char *text, int category,
			       struct domains *state)
{
	int number = errno; // gettext() leaves errno as it is
	const char *name = text ? name_of(state, domain) : NULL;

	errno = number;
	return name ? dcgettext(name, text, category) : (char *)text;
}

static char *translate_plural(const char *domain, const char *one, const char *many,
			      unsigned long count, int category, struct domains *state)
{
	int number = errno;
	const char *name = one ? name_of(state, domain) : NULL;

	errno = number;
	if (!name)
		return (char *)(count == 1 ? one : many);
	return dcngettext(name, one, many, count, category);
}

static char *get_text(const char *text, struct domains *state)
{
	return domains_translate(NULL, text, LC_MESSAGES, state);
}

static char *get_text_of(const char *domain, const char *text, struct domains *state)
{
	return domains_translate(domain, text, LC_MESSAGES, state);
}

// --- the part ------------------------------------------------------------------------------------

static void domains_end(void *arg)
{
	struct domains *state = arg;
	struct binding *next;

	for (struct binding *binding = state->bindings; binding; binding = next) {
		next = binding->next;
		free(binding->directory);
		free(binding->codeset);
		free(binding);
	}
	free(state->current);
	*state = (struct domains){0};
}

static bool domains_copy(void *to, const void *from, gorgon_moved_fn *moved, void *ctx)
{
	const struct domains *source = from;
	struct domains *state = to;
	bool done;

	(void)moved; // it has memory of its own
	(void)ctx;
	domains_end(state);
	done = copy_text(source->current, &state->current);
	for (const struct binding *old = source->bindings; old && done; old = old->next) {
		struct binding *binding = find_binding(state, old->domain);

		done = binding && copy_text(old->directory, &binding->directory) &&
		       copy_text(old->codeset, &binding->codeset);
	}
	if (!done)
		domains_end(state);
	return done;
}

#define OWN(name, target, args, reason) {name, target, args, 0, GORGON_OWN, reason}

static const struct gorgon_bound bound[] = {
	OWN("textdomain", set_domain, 1, "a program's current domain is no other program's"),
	OWN("bindtextdomain", bind_directory, 2,
	    "programs may have the same domain in different directories"),
	OWN("bind_textdomain_codeset", bind_codeset, 2, "as bindtextdomain"),
	OWN("gettext", get_text, 1, "looks where the program's own bindings say"),
	OWN("dgettext", get_text_of, 2, "as gettext"),
	OWN("__dgettext", get_text_of, 2, "as gettext"),
	OWN("dcgettext", domains_translate, 3, "as gettext"),
	OWN("__dcgettext", domains_translate, 3, "as gettext"),
	OWN("dcngettext", translate_plural, 5, "as gettext"),
};

const struct gorgon_part gorgon_text_domains = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct domains),
	.end = domains_end,
	.copy = domains_copy,
	.lock = &lock,
};
