// SPDX-License-Identifier: MIT
// Functions of the C library that answer in one buffer of the process: names of terminals and of
// the user, addresses as text, getpass() and getdate(). Each namespace has its buffers.
//
// As in the C library, an answer stays until the function's next call, and threads of a program that
// call a function at once overwrite each other's answer.
//
// Not here: inet_ntoa(), strerror(), h_errno, _res and others that the C library keeps for each
// thread.

#define _GNU_SOURCE
#include "part.h"
#include "records.h"

#include <errno.h>
#include <limits.h>
#include <netinet/ether.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define ETHER_TEXT sizeof("ff:ff:ff:ff:ff:ff")
#define NSAP_TEXT  (255 * 3) // as in the C library

struct state {
	struct gorgon_kept ttyname, ptsname, getlogin, cuserid, getpass, nsap;
	char terminal[L_ctermid], temporary[L_tmpnam], ether_text[ETHER_TEXT];
	struct ether_addr ether;
	struct tm date;
	int date_error; // `getdate_err`
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the answers; a leaf

static char *answers_keep(struct gorgon_kept *kept, char *text)
{
	char **ret;

	pthread_mutex_lock(&lock);
	ret = gorgon_kept_set(kept, &gorgon_record_string, &text);
	pthread_mutex_unlock(&lock);
	return ret ? *ret : NULL;
}

// --- terminals --------------------------------------------------------------------------------

// The answer of ttyname_r() or ptsname_r() for @fd.
static char *name_of(int fd, int (*ask)(int fd, char *buffer, size_t size),
		     struct gorgon_kept *kept)
{
	struct gorgon_buffer buffer = {0};
	char *ret = NULL;
	int code;

	do {
		if (!gorgon_buffer_grow(&buffer))
			return NULL;
		code = ask(fd, buffer.data, buffer.size);
	} while (code == ERANGE && buffer.size < PATH_MAX);
	if (code)
		errno = code;
	else
		ret = answers_keep(kept, buffer.data);
	gorgon_buffer_free(&buffer);
	return ret;
}

static char *own_ttyname(int fd, struct state *state)
{
	return name_of(fd, ttyname_r, &state->ttyname);
}

static char *own_ptsname(int fd, struct state *state)
{
	return name_of(fd, ptsname_r, &state->ptsname);
}

static char *own_ctermid(char *name, struct state *state)
{
	return ctermid(name ?: state->terminal);
}

// --- the user ---------------------------------------------------------------------------------

static char *own_getlogin(struct state *state)
{
	char name[LOGIN_NAME_MAX + 1];
	int code = getlogin_r(name, sizeof(name));

	if (!code)
		return answers_keep(&state->getlogin, name);
	errno = code;
	return NULL;
}

// The caller may pass memory of L_cuserid bytes for the answer.
static char *own_cuserid(char *name, struct state *state)
{
	char text[L_cuserid];

	if (name)
		return cuserid(name);
	cuserid(text);
	return *text ? answers_keep(&state->cuserid, text) : NULL;
}

// --- getpass ----------------------------------------------------------------------------------

static bool is_quiet(FILE *in, struct termios *before)
{
	struct termios quiet;

	if (tcgetattr(fileno(in), before))
		return false;
	quiet = *before;
	quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
	return !tcsetattr(fileno(in), TCSAFLUSH, &quiet);
}

// Read a line of @in, without its end, into the answer. It is a password: no other copy stays in memory.
static char *read_secret(const char *prompt, FILE *in, FILE *out, struct gorgon_kept *kept)
{
	struct termios before;
	bool quiet = is_quiet(in, &before);
	char *line = NULL, *ret = NULL;
	size_t size = 0;
	ssize_t length;

	fputs(prompt, out);
	fflush(out);
	length = getline(&line, &size, in);
	if (length >= 0) {
		if (length && line[length - 1] == '\n') {
			line[length - 1] = '\0';
			if (quiet)
				fputc('\n', out);
		}
		ret = answers_keep(kept, line);
	}
	if (quiet)
		tcsetattr(fileno(in), TCSAFLUSH, &before);
	fflush(out);
	if (line)
		explicit_bzero(line, size);
	free(line);
	return ret;
}

// The password is read from the terminal, or from standard input when there is no terminal.
static char *own_getpass(const char *prompt, struct state *state)
{
	FILE *terminal = fopen("/dev/tty", "w+ce");
	char *ret;

	if (!terminal)
		return read_secret(prompt, stdin, stderr, &state->getpass);
	__fsetlocking(terminal, FSETLOCKING_BYCALLER);
	// Between reading and writing a stream wants a seek, which a terminal answers with ESPIPE.
	setvbuf(terminal, NULL, _IONBF, 0);
	ret = read_secret(prompt, terminal, terminal, &state->getpass);
	fclose(terminal);
	return ret;
}

// --- others -----------------------------------------------------------------------------------

// A file name that is not in use. Static linkers warn of a call of the C library's tmpnam().
static char *own_tmpnam(char *name, struct state *state)
{
	char *ret = name ?: state->temporary;
	struct stat status;
	uint32_t number;

	for (unsigned tries = 0; tries < TMP_MAX; tries++) {
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return NULL;
		snprintf(ret, L_tmpnam, P_tmpdir "/file%06x", number & 0xffffff);
		if (lstat(ret, &status))
			return errno == ENOENT ? ret : NULL;
	}
	errno = EEXIST;
	return NULL;
}

static char *own_ether_ntoa(const struct ether_addr *addr, struct state *state)
{
	return ether_ntoa_r(addr, state->ether_text);
}

static struct ether_addr *own_ether_aton(const char *text, struct state *state)
{
	return ether_aton_r(text, &state->ether);
}

static char *own_nsap_ntoa(int length, const unsigned char *binary, char *text, struct state *state)
{
	char buffer[NSAP_TEXT];

	if (text)
		return inet_nsap_ntoa(length, binary, text);
	return answers_keep(&state->nsap, inet_nsap_ntoa(length, binary, buffer));
}

static struct tm *own_getdate(const char *text, struct state *state)
{
	int code = getdate_r(text, &state->date);

	if (!code)
		return &state->date;
	state->date_error = code;
	return NULL;
}

// --- the part ---------------------------------------------------------------------------------

static void answers_end(void *of)
{
	struct state *state = of;

	gorgon_kept_free(&state->ttyname);
	gorgon_kept_free(&state->ptsname);
	gorgon_kept_free(&state->getlogin);
	gorgon_kept_free(&state->cuserid);
	gorgon_kept_free(&state->nsap);
	if (state->getpass.block)
		explicit_bzero(state->getpass.block, state->getpass.size);
	gorgon_kept_free(&state->getpass);
}

#define WHY                                                                                        \
	"the C library answers in one buffer of the process; each program has its own, until its " \
	"next call"

static const struct gorgon_bound bound[] = {
	{"ttyname", own_ttyname, 1, 0, GORGON_OWN, WHY},
	{"ptsname", own_ptsname, 1, 0, GORGON_OWN, WHY},
	{"ctermid", own_ctermid, 1, 0, GORGON_OWN, WHY},
	{"getlogin", own_getlogin, 0, 0, GORGON_OWN, WHY},
	{"cuserid", own_cuserid, 1, 0, GORGON_OWN, WHY},
	{"getpass", own_getpass, 1, 0, GORGON_OWN,
	 "the C library would leave one program's password where the next one reads its own"},
	{"tmpnam", own_tmpnam, 1, 0, GORGON_OWN, WHY},
	{"ether_ntoa", own_ether_ntoa, 1, 0, GORGON_OWN, WHY},
	{"ether_aton", own_ether_aton, 1, 0, GORGON_OWN, WHY},
	{"inet_nsap_ntoa", own_nsap_ntoa, 3, 0, GORGON_OWN, WHY},
	{"getdate", own_getdate, 1, 0, GORGON_OWN, WHY},
	{"getdate_err", NULL, GORGON_BOUND_DATA, offsetof(struct state, date_error), GORGON_OWN,
	 "what getdate() has said to this program"},
};

const struct gorgon_part gorgon_answers_part = {
	.bound = bound,
	.bound_count = sizeof(bound) / sizeof(*bound),
	.state_size = sizeof(struct state),
	.end = answers_end,
	.lock = &lock,
};
