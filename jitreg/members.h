/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Several objects that are at fixed distances. Internal to jitreg.
 */
#ifndef JITREG_MEMBERS_H
#define JITREG_MEMBERS_H

#include "frames.h"
#include "symfile.h"
#include "writer.h"

/** An object in a pack. All addresses count from the start of the group. */
struct jitreg_member {
	struct jitreg_model *model;
	uint64_t delta;      /**< What is added to addresses in the file; wraps around. */
	uint64_t start, end; /**< Its mapped range. */
	/** It was registered first in its group: as a rule the others were loaded for it. */
	bool primary;
};

/** A stretch of addresses without a gap that another object could be put into. */
struct jitreg_range {
	uint64_t start, end;
};

/** The stretches that members take, sorted by address; returns their number. @p ranges has room for
 * @p count. */
size_t jitreg_members_find_ranges(const struct jitreg_member *members, size_t count,
				  struct jitreg_range *ranges);

/** Which of the sorted stretches has the address; NULL: none. */
const struct jitreg_range *jitreg_range_find(const struct jitreg_range *ranges, size_t count,
					     uint64_t address);

/**
 * The code of each member, for GDB: from .text on, without .plt. Of the sections that contain an
 * address GDB takes the lowest. To step from one library into another, GDB must find a section that
 * is called .plt. @p texts has room for @p count.
 */
void jitreg_members_find_texts(const struct jitreg_member *members, size_t count,
			    struct jitreg_range *texts);

/** The procedure linkage table of a group's first library: functions of its API go on to each other
 * through it. Returns the member, or NULL: there is none. */
const struct jitreg_member *jitreg_members_find_plt(const struct jitreg_member *members,
						    size_t count, struct jitreg_range *ret);

/** The procedure linkage tables of a member side by side; empty: it has none. */
struct jitreg_range jitreg_members_find_plts(const struct jitreg_member *member);

/** Take @p plt out of the sorted @p ranges; returns their number, at most one more than @p count.
 * The stretch behind it begins @p margin bytes before its end. */
size_t jitreg_members_cut(struct jitreg_range *ranges, size_t count, struct jitreg_range plt,
			  size_t margin);

/**
 * Append local names for the entries of @p plt, which is @p member's. Without the library's file
 * there are none.
 *
 * @param shndx   The table's section.
 * @param start   What values count from.
 */
int jitreg_members_add_plt_names(struct jitreg_symtab *table, const struct jitreg_member *member,
				 struct jitreg_range plt, Elf64_Section shndx, uint64_t start);

/**
 * Append a symbol, unless its address is in none of the sorted @p ranges.
 *
 * @param address   Counted from the start of the group.
 * @param relative  Whether the value is to count from the start of the stretch, as in ET_REL.
 */
int jitreg_members_add_name(struct jitreg_symtab *table, const struct jitreg_range *ranges,
			    size_t count, const char *text, size_t text_size, uint64_t address,
			    bool relative, uint64_t size, uint8_t info);

/** The number of symbols, the null symbol included. */
size_t jitreg_members_count_symbols(const struct jitreg_symtab *table);

/** Called for each name of a model, until it returns something other than 0; @p vaddr is in the
 * file. */
typedef int (*jitreg_name_fn)(void *ctx, const char *text, uint64_t vaddr, const Elf64_Sym *sym);

int jitreg_members_for_each_name(const struct jitreg_model *model, jitreg_name_fn fn,
				 void *ctx);

/** @p name->vaddr is in the file; @p name->section is of no use here. */
typedef int (*jitreg_known_name_fn)(void *ctx, const struct jitreg_name *name);

/**
 * Each name of a member once: the functions of its detached file, static functions among them, of
 * which a library is stripped, and what else its own file names. Goes on until @p fn returns
 * something other than 0.
 *
 * @retval -EAGAIN  the detached file has become another one while it was read
 */
int jitreg_members_for_each_known_name(const struct jitreg_member *member, jitreg_known_name_fn fn,
				       void *ctx);

/** Append the unwind data of all members to a section that is placed at @p vaddr. */
int jitreg_members_move_frames(const struct jitreg_member *members, size_t count, uint64_t vaddr,
			    enum jitreg_frames_form form, struct jitreg_bytes *ret);

/** Add the sections of the stretches, with @p flags besides: of @p kind `.text` they are `.text`,
 * `.text.1` and so on. */
int jitreg_members_add_ranges(struct jitreg_writer *w, const char *kind,
			      const struct jitreg_range *ranges, size_t count, uint64_t flags);

#endif
