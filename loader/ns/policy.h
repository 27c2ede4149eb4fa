/* SPDX-License-Identifier: MIT */
/* Private or shared: the built-in list and a namespace's own patterns. See policy.c. */
#ifndef GORGON_NS_POLICY_H
#define GORGON_NS_POLICY_H

#include "gorgon.h"

/* A namespace's copy of its options' patterns; NULL-terminated arrays or NULL. */
struct gorgon_policy {
	char **share;
	char **keep_private;
	char **extensions; /* that are allowed where others are denied */
};

/* Copy patterns. False when there is no memory; @policy is then empty. */
bool gorgon_policy_init(struct gorgon_policy *policy, const char *const *share,
			const char *const *keep_private);
/* The same for extension modules that are allowed. */
bool gorgon_policy_allow(struct gorgon_policy *policy, const char *const *extensions);
void gorgon_policy_deinit(struct gorgon_policy *policy);

/* An error if a pattern cannot be obeyed whatever is loaded. Either list may be NULL. */
struct gorgon_error *gorgon_policy_check(const char *const *share, const char *const *keep_private);

/* Why the library with this SONAME cannot be private; NULL when it can. */
const char *gorgon_policy_must_share(const char *name);

/* What a name alone says; its closure (closure.c) may say otherwise. */
struct gorgon_policy_rule {
	bool shared;
	bool by_option;	     /* of the namespace, not of the built-in list */
	const char *pattern; /* that matched, or NULL */
	const char *reason;  /* one line, static */
	bool for_a_pool; /* of threads: private when neither it nor what it needs has one */
	bool is_pool;
};

/* The rule for the library called @name, or for a path of which the last part counts. */
struct gorgon_policy_rule gorgon_policy_find(const struct gorgon_policy *policy, const char *name);

/* Whether a name belongs to CPython's API, which never comes from the system's scope. */
bool gorgon_policy_is_python_symbol(const char *name);

#endif
