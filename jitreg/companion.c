// SPDX-License-Identifier: MIT
/*
 * The companion of a pack: a debug file on disk with what GDB would otherwise read once
 * for each interpreter.
 *
 *     .text, .text.1 ...    the code of each object, for an address of 0
 *     .plt                  the procedure linkage table of the group's first library
 *     .symtab               functions, of the library or of its detached debug file; entries of
 *                           that table (file/plt.c)
 *     .debug_frame          unwind data of all objects
 *     .debug_info ...       functions and lines of all objects
 *     .gorgon.key           which objects, at which distances
 *
 * GDB opens a debug file once, however many object files refer to it, and keeps its names and
 * unwind data once. There are only functions in it: with variables GDB would take a variable of any
 * copy from the first copy. (Unwind data is in .debug_frame because GDB ignores .eh_frame in a
 * debug file.)
 *
 * The lines are what lines.c makes of each library, so that breakpoints by file and line, static
 * functions and steps work in any number of copies without a script. Where a script adds the whole
 * DWARF to a copy, the lines would be in the way, since GDB prefers the debug information that it
 * has read first. Therefore there is a second companion without lines. GDB finds that file by
 * build-id, which it tries before the link by name, once a script has told GDB where to look. The
 * build-id is JITREG_COMPANION_ID, followed by the number that is the file's name.
 *
 * The files are made once and stay (cache.c).
 */
#define _GNU_SOURCE 1
#include "companion.h"

#include "file/debuginfo.h"
#include "library_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct companion {
	const struct jitreg_member *members;
	size_t member_count;
	struct jitreg_range *texts; // as many as members
	struct jitreg_range plt;
	const struct jitreg_member *plt_member; // which has it, or NULL
	char *key;
	size_t key_size;
	struct jitreg_writer file;
	struct jitreg_symtab symtab;
	struct jitreg_bytes frames;
	const struct jitreg_member *current; // while its names are added
	struct jitreg_lines lines;
	bool with_lines;
	bool has_lines; // the current member
	const uint8_t *id; // the build-id; NULL: it has none
};

static bool is_function(unsigned type)
{
	return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/*
 * Whether a name is that of code which the compiler has moved away from a C++ function: _Z1fi.cold.
 * GDB takes f for its name, so that "break f" would stop there, too. Where there are lines, this
 * code has a name in them.
 */
static bool is_moved_part(const char *text, size_t text_size)
{
	return text_size > 2 && !strncmp(text, "_Z", 2) && memmem(text, text_size, ".cold", 5);
}

static int add_name(void *ctx, const struct jitreg_name *name)
{
	struct companion *c = ctx;
	uint8_t type = ELF64_ST_TYPE(name->info);

	if (!is_function(type) || (c->has_lines && is_moved_part(name->text, name->text_size)))
		return 0;
	return jitreg_members_add_name(&c->symtab, c->texts, c->member_count, name->text,
				       name->text_size, name->vaddr + c->current->delta, false,
				       name->size, ELF64_ST_INFO(STB_GLOBAL, type));
}

/* Find out whether a member has lines. A companion with lines gets them. */
static int find_lines_of(struct companion *c, const struct jitreg_member *member)
{
	struct jitreg_lines lines;
	int r = jitreg_library_lines_find(member->model, &lines);

	c->has_lines = !r && lines.sections[JITREG_LINES_INFO].size;
	if (!r && c->with_lines)
		r = jitreg_lines_append(&c->lines, &lines, member->delta);
	jitreg_lines_deinit(&lines);
	return r;
}

/* Add the names of all members, and find their lines. */
static int add_names(struct companion *c)
{
	// Local symbols come first.
	int r = c->plt_member ? jitreg_members_add_plt_names(
					&c->symtab, c->plt_member, c->plt,
					(Elf64_Section)(c->member_count + 1), 0)
			      : 0;

	for (size_t i = 0; !r && i < c->member_count; i++) {
		c->current = &c->members[i];
		if (!(r = find_lines_of(c, c->current)))
			r = jitreg_members_for_each_known_name(c->current, add_name, c);
	}
	return r ? r : jitreg_writer_add_symtab(&c->file, &c->symtab);
}

static int add_frames(struct companion *c)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 8};
	int r = jitreg_members_move_frames(c->members, c->member_count, 0, JITREG_FRAMES_DEBUG,
					&c->frames);

	if (r)
		return r;
	shdr.sh_size = c->frames.size;
	// Small, since GDB computes the checksum of the whole file when it attaches; inflated when
	// GDB unwinds.
	return jitreg_writer_add_compressed(&c->file, ".debug_frame", &shdr, c->frames.data, 1);
}

static int add_key(struct companion *c)
{
	GElf_Shdr shdr = {.sh_type = SHT_PROGBITS, .sh_addralign = 1, .sh_size = c->key_size};

	return jitreg_writer_add(&c->file, JITREG_CACHE_KEY, &shdr, c->key, ELF_T_BYTE) ? 0
											: -ENOMEM;
}

static int add_lines(struct companion *c)
{
	// Small, since GDB computes the checksum of the whole file.
	return c->lines.sections[JITREG_LINES_INFO].size
		       ? jitreg_lines_write(&c->file, &c->lines, 1)
		       : 0;
}

static int companion_build(void *ctx, uint8_t **bytes, size_t *size)
{
	struct companion *c = ctx;
	const Elf64_Ehdr *like = (const Elf64_Ehdr *)c->members[0].model->bytes;
	size_t private_size;
	int r;

	if ((r = jitreg_writer_begin(&c->file, ET_DYN, like)) ||
	    (r = jitreg_members_add_ranges(&c->file, ".text", c->texts, c->member_count, 0)) ||
	    (r = jitreg_members_add_ranges(&c->file, ".plt", &c->plt, !!c->plt_member, 0)) ||
	    (r = add_names(c)) || (r = add_frames(c)) || (r = add_lines(c)) || (r = add_key(c)))
		return r;
	r = c->id ? jitreg_writer_add_build_id(&c->file, c->id, JITREG_COMPANION_ID_SIZE) : 0;
	return r ? r : jitreg_writer_finish(&c->file, NULL, &private_size, bytes, size);
}

/* Make the key, of everything that the contents depend on. */
static int make_key(struct companion *c)
{
	FILE *out = open_memstream(&c->key, &c->key_size);

	if (!out)
		return -ENOMEM;
	fprintf(out, "companion 14%s\n", c->with_lines ? " with lines " JITREG_LINES_VERSION : "");
	for (size_t i = 0; i < c->member_count; i++) {
		const struct jitreg_member *m = &c->members[i];
		const struct jitreg_model *t = m->model;

		fprintf(out, "%" PRIx64 "-%" PRIx64 " %" PRIx64 " %s", m->start, m->end, m->delta,
			m == c->plt_member ? "plt " : "");
		for (size_t b = 0; b < t->debug.build_id_size; b++)
			fprintf(out, "%02x", t->debug.build_id[b]);
		fprintf(out, " %jd %jd.%09ld %s %s\n", (intmax_t)t->st.st_size,
			(intmax_t)t->st.st_mtim.tv_sec, t->st.st_mtim.tv_nsec, t->path,
			t->debug.path ? t->debug.path : "-");
	}
	return fclose(out) ? -ENOMEM : 0;
}

/* Make the build-id by which GDB finds the file without lines: two hashes of the key. If two keys
 * have the same hashes, the second key gets no such file. */
static void make_id(const struct companion *c, uint8_t id[JITREG_COMPANION_ID_SIZE])
{
	uint64_t hash[2] = {UINT64_C(0xcbf29ce484222325), UINT64_C(0x9e3779b97f4a7c15)};

	for (size_t i = 0; i < c->key_size; i++) // FNV-1a, twice
		for (size_t j = 0; j < 2; j++)
			hash[j] = (hash[j] ^ (uint8_t)c->key[i]) * UINT64_C(0x100000001b3);
	id[0] = JITREG_COMPANION_ID;
	memcpy(id + 1, hash, sizeof(hash));
}

static int find_file(struct companion *c, struct jitreg_cached *ret,
		     uint8_t id[JITREG_COMPANION_ID_SIZE])
{
	char name[2 * JITREG_COMPANION_ID_SIZE];
	int r = make_key(c);

	if (!r && !c->with_lines && id) {
		make_id(c, id);
		c->id = id;
		for (size_t i = 1; i < JITREG_COMPANION_ID_SIZE; i++)
			sprintf(name + 2 * (i - 1), "%02x", id[i]);
	}
	if (!r)
		r = jitreg_cache_find(c->key, c->key_size, c->id ? name : NULL, JITREG_CACHE_DEBUG,
				      companion_build, c, c->with_lines, ret);
	jitreg_writer_deinit(&c->file);
	jitreg_symtab_deinit(&c->symtab);
	jitreg_bytes_deinit(&c->frames);
	jitreg_lines_deinit(&c->lines);
	free(c->key);
	return r;
}

/* @id is set to the build-id of a companion without lines. NULL: GDB finds the file by its name. */
static int find_companion(const struct jitreg_member *members, size_t count, bool with_lines,
			  struct jitreg_cached *ret, uint8_t id[JITREG_COMPANION_ID_SIZE])
{
	struct companion c = {.members = members, .member_count = count, .with_lines = with_lines};
	int r = -ENOMEM;

	c.texts = calloc(count, sizeof(*c.texts));
	if (c.texts) {
		jitreg_members_find_texts(members, count, c.texts);
		c.plt_member = jitreg_members_find_plt(members, count, &c.plt);
		r = find_file(&c, ret, id);
	}
	free(c.texts);
	return r;
}

int jitreg_companion_find(const struct jitreg_member *members, size_t count,
			  struct jitreg_companion *ret, uint32_t *crc,
			  struct jitreg_companion *bare, uint8_t id[JITREG_COMPANION_ID_SIZE])
{
	struct jitreg_cached file;
	int r = find_companion(members, count, true, &file, NULL);
	bool has_lines;

	*ret = *bare = (struct jitreg_companion){0};
	if (r)
		return r;
	has_lines = jitreg_file_section(file.bytes, jitreg_lines_section_name(JITREG_LINES_INFO));
	*crc = JITREG_CACHE_CRC;
	jitreg_cached_take(&file, ret);
	// The companion is good without this file, too; but then a script gets the lines, and GDB
	// prefers them to the DWARF that the script adds.
	if (has_lines && !find_companion(members, count, false, &file, id))
		jitreg_cached_take(&file, bare);
	return 0;
}
