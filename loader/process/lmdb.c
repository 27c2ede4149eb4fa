// SPDX-License-Identifier: MIT
// What LMDB takes for the number of its process.
//
// LMDB's table of readers, a file that processes share, has the process number of each reader. A
// process that opens a database locks the byte of its number (fcntl(), F_WRLCK) for as long as it
// reads, so that others see it live. A process that closes a database gives back all readers of its
// number. Of two copies in one process, the second would be refused the lock, and a copy that
// closes a database would give back the readers of the other copies: their pages would be written
// anew while they read. So each namespace's LMDB
// gets a number of its own, above the numbers that the kernel gives to processes, and another
// number in a forked child. Nobody sends a signal to it; `mdb_stat -r` shows it.
//
// Not handled: of more than 511 namespaces at once, some have the same number.

#define _GNU_SOURCE
#include "lmdb.h"
#include "image/image.h"
#include "ns/ns.h"

#include <string.h>
#include <unistd.h>

#define PID_BITS 22 // the kernel's PID_MAX_LIMIT
#define NUMBERS	 ((1u << (31 - PID_BITS)) - 1)

// LMDB's own names may be hidden in a library that contains it. The names that it needs are not:
// mutexes in a file that survive their process, and record locks.
bool gorgon_lmdb_is(const struct gorgon_image *image)
{
	static const char *const names[] = {"pthread_mutex_consistent", "fcntl", "fdatasync"};
	unsigned found = 0;

	for (uint32_t i = 1; i < image->symbol_count; i++) {
		const Elf64_Sym *symbol = &image->symbols[i];

		for (unsigned n = 0; symbol->st_shndx == SHN_UNDEF && n < 3; n++)
			if (!strcmp(image->strtab + symbol->st_name, names[n]))
				found |= 1u << n;
	}
	return found == 7;
}

pid_t gorgon_lmdb_getpid(const struct gorgon_ns *ns)
{
	unsigned number = (unsigned)(ns->debug.id % NUMBERS) + 1;

	return (pid_t)(number << PID_BITS | (unsigned)getpid());
}
