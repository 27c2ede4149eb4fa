// SPDX-License-Identifier: MIT
// Functions through which private code would reach the whole process: exit, the
// descriptors of standard output, pthread keys, signals to itself. See replace.c for the table.

#define _GNU_SOURCE
#include "lock.h"
#include "replace.h"
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

// exit() ends the interpreter: its main thread goes back to whoever called
// gorgon_interp_main(). From another of its threads exit() cannot end the main one;
// that thread ends, and the status is kept. In a namespace without an interpreter
// there is nobody to go back to, and exit() is exit().
void gorgon_process_exit(int status, struct gorgon_ns *ns)
{
	if (!ns->on_exit)
		exit(status);
	ns->on_exit(ns->on_exit_ctx, status);
	pthread_exit(NULL);
}

// An interpreter that a KeyboardInterrupt has ended restores SIGINT's default and kills
// itself with it, so that a shell sees why it ended. Here that is exit() with the status
// that a shell would show.
int gorgon_process_kill(pid_t pid, int number, struct gorgon_ns *ns)
{
	struct sigaction action;

	if (pid != getpid() || number != SIGINT || !ns->on_exit ||
	    gorgon_signal_action(SIGINT, NULL, &action, ns) || action.sa_handler != SIG_DFL)
		return kill(pid, number);
	gorgon_process_exit(128 + SIGINT, ns);
	return 0;
}

ssize_t gorgon_process_write(int fd, const void *data, size_t size, struct gorgon_ns *ns)
{
	if (fd == STDOUT_FILENO || fd == STDERR_FILENO)
		return ns->opts.write_output(ns->opts.write_ctx, fd, data, size);
	return write(fd, data, size);
}

int gorgon_process_key_create(unsigned *key, void (*destructor)(void *), struct gorgon_ns *ns)
{
	pthread_key_t *grown;
	int err = pthread_key_create(key, destructor);

	if (err)
		return err;
	gorgon_lock();
	grown = reallocarray(ns->keys, ns->key_count + 1, sizeof(*grown));
	if (grown) {
		ns->keys = grown;
		grown[ns->key_count++] = *key;
	}
	gorgon_unlock();
	if (grown)
		return 0;
	pthread_key_delete(*key);
	return ENOMEM;
}

int gorgon_process_key_delete(unsigned key, struct gorgon_ns *ns)
{
	gorgon_lock();
	for (size_t i = 0; i < ns->key_count; i++) {
		if (ns->keys[i] != key)
			continue;
		ns->keys[i] = ns->keys[--ns->key_count];
		break;
	}
	gorgon_unlock();
	return pthread_key_delete(key);
}

void gorgon_process_drop_keys(struct gorgon_ns *ns)
{
	while (ns->key_count)
		pthread_key_delete(ns->keys[--ns->key_count]);
	free(ns->keys);
	ns->keys = NULL;
}
