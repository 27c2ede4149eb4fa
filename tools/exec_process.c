// SPDX-License-Identifier: MIT The process that `gorgon exec` speaks to: its memory, and the
// debug root in it (loader/ns/debug_root.h).
//
// The root is found by its name among the dynamic symbols of what the process has mapped, which
// are read from its memory: the files may be in another container, or gone. What is read may be
// made up, and is only compared and printed.

#define _GNU_SOURCE
#include "exec.h"
#include "tool.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INTERP_MAX 100000
#define SYMBOL_MAX 1000000
#define TRIES      1000

bool remote_read(const struct remote *remote, uint64_t addr, void *bytes, size_t size)
{
	return addr <= INT64_MAX &&
	       pread(remote->memory, bytes, size, (off_t)addr) == (ssize_t)size;
}

bool remote_write(const struct remote *remote, uint64_t addr, const void *bytes, size_t size)
{
	return addr <= INT64_MAX &&
	       pwrite(remote->memory, bytes, size, (off_t)addr) == (ssize_t)size;
}

// --- the root -------------------------------------------------------------------------------

struct tables {
	uint64_t symbols, names, hash;
};

// The linker has added the bias to addresses in the dynamic section, or has not.
static void read_dynamic(const struct remote *remote, uint64_t addr, uint64_t start, uint64_t bias,
			 struct tables *ret)
{
	Elf64_Dyn dyn;

	for (unsigned i = 0;
	     i < 200 && remote_read(remote, addr + i * sizeof(dyn), &dyn, sizeof(dyn)) &&
	     dyn.d_tag != DT_NULL;
	     i++) {
		uint64_t value = dyn.d_un.d_ptr < start ? dyn.d_un.d_ptr + bias : dyn.d_un.d_ptr;

		if (dyn.d_tag == DT_SYMTAB)
			ret->symbols = value;
		else if (dyn.d_tag == DT_STRTAB)
			ret->names = value;
		else if (dyn.d_tag == DT_GNU_HASH)
			ret->hash = value;
	}
}

static bool is_symbol(const struct remote *remote, const struct tables *tables, uint32_t index,
		      const char *name, Elf64_Sym *ret)
{
	char found[64];
	size_t size = strlen(name) + 1;

	return remote_read(remote, tables->symbols + index * sizeof(*ret), ret, sizeof(*ret)) &&
	       ret->st_shndx != SHN_UNDEF &&
	       remote_read(remote, tables->names + ret->st_name, found, size) &&
	       !memcmp(found, name, size);
}

// The run-time address of a symbol of the ELF file that is mapped at @start; 0: there is none.
static uint64_t find_in_table(const struct remote *remote, const struct tables *tables,
			      uint64_t bias, const char *name)
{
	uint32_t head[4], hash = 5381, index, chain;
	uint64_t buckets, chains;
	Elf64_Sym symbol;

	for (const char *c = name; *c; c++)
		hash = hash * 33 + (unsigned char)*c;
	if (!remote_read(remote, tables->hash, head, sizeof(head)) || !head[0])
		return 0;
	buckets = tables->hash + sizeof(head) + head[2] * UINT64_C(8);
	chains = buckets + head[0] * UINT64_C(4);
	if (!remote_read(remote, buckets + hash % head[0] * UINT64_C(4), &index, 4) ||
	    index < head[1])
		return 0;
	for (unsigned i = 0; i < SYMBOL_MAX; i++, index++) {
		if (!remote_read(remote, chains + (index - head[1]) * UINT64_C(4), &chain, 4))
			return 0;
		if ((chain | 1) == (hash | 1) && is_symbol(remote, tables, index, name, &symbol))
			return bias + symbol.st_value;
		if (chain & 1)
			return 0;
	}
	return 0;
}

static uint64_t find_symbol(const struct remote *remote, uint64_t start, const char *name)
{
	struct tables tables = {0};
	uint64_t bias = 0, dynamic = 0;
	bool has_bias = false;
	Elf64_Phdr phdr;
	Elf64_Ehdr ehdr;

	if (!remote_read(remote, start, &ehdr, sizeof(ehdr)) ||
	    memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || ehdr.e_ident[EI_CLASS] != ELFCLASS64 ||
	    ehdr.e_phentsize != sizeof(phdr))
		return 0;
	for (unsigned i = 0; i < ehdr.e_phnum; i++) {
		if (!remote_read(remote, start + ehdr.e_phoff + i * sizeof(phdr), &phdr,
				 sizeof(phdr)))
			return 0;
		if (phdr.p_type == PT_LOAD && !has_bias) {
			bias = start - (phdr.p_vaddr - phdr.p_offset);
			has_bias = true;
		} else if (phdr.p_type == PT_DYNAMIC) {
			dynamic = phdr.p_vaddr;
		}
	}
	if (dynamic)
		read_dynamic(remote, bias + dynamic, start, bias, &tables);
	return tables.hash && tables.symbols && tables.names
		       ? find_in_table(remote, &tables, bias, name)
		       : 0;
}

static bool read_root(const struct remote *remote, uint64_t addr, struct gorgon_debug_root *ret)
{
	*ret = (struct gorgon_debug_root){0};
	if (!remote_read(remote, addr, ret, offsetof(struct gorgon_debug_root, request)) ||
	    memcmp(ret->magic, GORGON_DEBUG_MAGIC, sizeof(ret->magic)) != 0 ||
	    ret->version != GORGON_DEBUG_VERSION)
		return false;
	return ret->size < sizeof(*ret) || remote_read(remote, addr, ret, sizeof(*ret));
}

// The address of the root that is in use; 0: there is none.
static uint64_t find_root(const struct remote *remote, FILE *maps)
{
	char *line = NULL, *before = strdup("");
	struct gorgon_debug_root root;
	size_t capacity = 0;
	uint64_t ret = 0;

	while (!ret && getline(&line, &capacity, maps) > 0) {
		uint64_t start, off;
		int path = 0;

		if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %n", &start, &off, &path) != 2 || !path ||
		    line[path] != '/' || off || !strcmp(line + path, before))
			continue;
		free(before);
		before = strdup(line + path);
		ret = find_symbol(remote, start, "gorgon_debug_root");
		if (ret && !read_root(remote, ret, &root))
			ret = 0;
	}
	free(before);
	free(line);
	return ret;
}

static uint64_t root_addr;

char *remote_open(pid_t pid, struct remote *ret)
{
	struct gorgon_debug_root root;
	char name[64];
	FILE *maps;

	*ret = (struct remote){.pid = pid};
	snprintf(name, sizeof(name), "/proc/%d/mem", pid);
	ret->memory = open(name, O_RDWR | O_CLOEXEC);
	if (ret->memory < 0)
		return errno == ENOENT
			       ? tool_text("process %d: there is none with this number", pid)
			       : tool_text("process %d: you may not trace it: %s", pid,
					     strerror(errno));
	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	if (maps) {
		root_addr = find_root(ret, maps);
		fclose(maps);
	}
	if (!root_addr || !read_root(ret, root_addr, &root)) {
		remote_close(ret);
		return tool_text("process %d: it has no interpreters of Gorgon (no "
				   "gorgon_debug_root in use)",
				   pid);
	}
	ret->request = root.size < sizeof(root) ? 0 : root.request;
	if (ret->request)
		return NULL;
	remote_close(ret);
	if (root.size < sizeof(root))
		return tool_text("process %d: its libgorgon is older than `gorgon exec`", pid);
	return tool_text(
		"process %d: it takes no requests: its host refuses them (gorgon_exec_refuse()), "
		"PYTHON_DISABLE_REMOTE_DEBUG is set, it has more rights than who has started it, "
		"or no Python has started yet",
		pid);
}

void remote_close(struct remote *remote)
{
	close(remote->memory);
}

// --- its interpreters -------------------------------------------------------------------------

static bool read_interps(const struct remote *remote, const struct gorgon_debug_root *root,
			 struct remote_interp *list, size_t *count)
{
	size_t size = root->ns_size < sizeof(struct gorgon_debug_ns)
			      ? root->ns_size
			      : sizeof(struct gorgon_debug_ns);
	struct gorgon_debug_ns ns = {0};

	*count = 0;
	for (uint64_t addr = root->ns_head; addr && *count < root->ns_count; addr = ns.next) {
		struct remote_interp *interp = &list[*count];

		if (!remote_read(remote, addr, &ns, size))
			return false;
		if (ns.interp == GORGON_DEBUG_NO_INTERP || !ns.activity)
			continue;
		*interp = (struct remote_interp){.number = ns.interp,
						 .requests = ns.requests,
						 .activity = ns.activity,
						 .thread = (pid_t)ns.thread};
		if (ns.label &&
		    !remote_read(remote, ns.label, interp->label, sizeof(interp->label) - 1))
			return false;
		(*count)++;
	}
	return true;
}

// The lists may change meanwhile.
struct remote_interp *remote_list(const struct remote *remote, size_t *count)
{
	for (unsigned i = 0; i < TRIES; i++, usleep(1000)) {
		struct gorgon_debug_root root, after;
		struct remote_interp *list;

		if (!read_root(remote, root_addr, &root) || root.ns_count > INTERP_MAX)
			return NULL;
		list = calloc(root.ns_count + 1, sizeof(*list));
		if (list && !(root.sequence & 1) && read_interps(remote, &root, list, count) &&
		    read_root(remote, root_addr, &after) && after.sequence == root.sequence)
			return list;
		free(list);
	}
	return NULL;
}
