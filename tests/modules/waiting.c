// SPDX-License-Identifier: MIT
// A constructor that says that it runs, and waits for an answer; WAITING_FDS has both descriptors.

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIMIT_MS 800 // less than what fork() once waited for constructors

int waiting_was_answered(void);

static int answered;

__attribute__((constructor)) static void start(void)
{
	const char *text = getenv("WAITING_FDS");
	struct pollfd pollfd = {.events = POLLIN};
	int out;

	if (!text || sscanf(text, "%d %d", &out, &pollfd.fd) != 2 || write(out, "", 1) != 1)
		return;
	answered = poll(&pollfd, 1, LIMIT_MS) == 1;
}

int waiting_was_answered(void)
{
	return answered;
}
