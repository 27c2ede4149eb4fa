// SPDX-License-Identifier: MIT
/*
 * Unwind data moved: from the .eh_frame of an object into a section for several.
 *
 *     CIE   length, id, version, augmentation, alignment factors, return address, rules
 *     FDE   length, CIE, first address, size of the range, rules
 *
 * The rules are copied, and addresses are rewritten. Personality routines and tables of handlers
 * are left out, because they are for exceptions. The letter 'G' of aarch64's augmentations is left
 * out, too: it says that the stack has tags. Three letters of
 * the augmentation remain: 'S' (a signal frame) and aarch64's 'B' (return addresses are signed with
 * the second key), which debuggers understand in a .debug_frame, too; and 'R' (the form of
 * addresses) in an .eh_frame. On aarch64 rules say which return addresses are signed:
 * DW_CFA_AARCH64_negate_ra_state has the number of DW_CFA_GNU_window_save.
 *
 * DW_CFA_set_loc in the rules would have an address in the form of the augmentation. No
 * compiler writes it (compilers advance from the first address), and data with it is refused.
 * So are entries with lengths of 64 bits: no compiler writes them, and readers do not agree
 * what they mean.
 *
 * Specifications: DWARF 5 section 6.4; Linux Standard Base, "Exception Frames"; DWARF for the Arm
 * 64-bit Architecture, "Call frame instructions" and "Augmentation".
 */
#include "frames.h"

#include "file/eh_frame.h"
#include "file/leb128.h"
#include "file/grow.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct cie {
	size_t from; // offset in the old section
	uint32_t to; // offset in the new section
	struct jitreg_cie parts;
};

/* What comes before the rules: fixed fields and three LEB128 numbers. */
struct head {
	uint8_t data[64];
	size_t size;
};

struct move {
	struct jitreg_bytes *to;
	uint64_t to_vaddr;
	enum jitreg_frames_form form;
	const struct jitreg_frames *from;
	struct cie *cies; // in the order of the old section
	size_t cie_count;
};

bool jitreg_frames_read_rules(const uint8_t *rules, size_t size, struct jitreg_rules *ret)
{
	struct jitreg_cursor c = {.at = rules, .end = rules + size};

	*ret = (struct jitreg_rules){0};
	while (jitreg_cursor_more(&c)) {
		uint8_t op = (uint8_t)jitreg_cursor_number(&c, 1);

		switch (op & 0xc0 ? op & 0xc0 : op) {
		case 0x00: // nop, padding
			continue;
		case 0x40:
			ret->advance += op & 0x3f;
			break;
		case 0xc0: // restore
		case DW_CFA_GNU_window_save:
			break;
		case DW_CFA_remember_state:
			ret->open++;
			break;
		case DW_CFA_restore_state:
			if (ret->open)
				ret->open--;
			else
				ret->odd = true;
			break;
		case 0x80: // offset
		case DW_CFA_restore_extended:
		case DW_CFA_undefined:
		case DW_CFA_same_value:
		case DW_CFA_def_cfa_register:
		case DW_CFA_def_cfa_offset:
		case DW_CFA_def_cfa_offset_sf:
		case DW_CFA_GNU_args_size:
			jitreg_cursor_uleb(&c);
			break;
		case DW_CFA_advance_loc1:
			ret->advance += jitreg_cursor_number(&c, 1);
			break;
		case DW_CFA_advance_loc2:
			ret->advance += jitreg_cursor_number(&c, 2);
			break;
		case DW_CFA_advance_loc4:
			ret->advance += jitreg_cursor_number(&c, 4);
			break;
		case DW_CFA_offset_extended:
		case DW_CFA_register:
		case DW_CFA_def_cfa:
		case DW_CFA_offset_extended_sf:
		case DW_CFA_def_cfa_sf:
		case DW_CFA_val_offset:
		case DW_CFA_val_offset_sf:
		case DW_CFA_GNU_negative_offset_extended:
			jitreg_cursor_uleb(&c);
			jitreg_cursor_uleb(&c);
			break;
		case DW_CFA_def_cfa_expression:
			jitreg_cursor_skip(&c, jitreg_cursor_uleb(&c));
			break;
		case DW_CFA_expression:
		case DW_CFA_val_expression:
			jitreg_cursor_uleb(&c);
			jitreg_cursor_skip(&c, jitreg_cursor_uleb(&c));
			break;
		default: // DW_CFA_set_loc, and unknown rules
			return false;
		}
		if (c.bad)
			return false;
		ret->size = (size_t)(c.at - rules);
	}
	return true;
}

static bool rules_can_move(const struct jitreg_cursor *c)
{
	struct jitreg_rules rules;

	return jitreg_frames_read_rules(c->at, (size_t)(c->end - c->at), &rules);
}

static void frames_put(struct head *head, uint64_t value, size_t size)
{
	memcpy(head->data + head->size, &value, size);
	head->size += size;
}

/* Append length, contents and padding; *off becomes the offset of the length. */
static int append_entry(const struct move *m, const struct head *head,
			const struct jitreg_cursor *rules, uint32_t *off)
{
	static const uint8_t padding[8];
	size_t align = m->form == JITREG_FRAMES_EH ? 4 : 8;
	size_t rules_size = (size_t)(rules->end - rules->at);
	size_t content = head->size + rules_size;
	uint32_t length = (uint32_t)((content + 4 + align - 1) / align * align - 4);

	*off = jitreg_bytes_append(m->to, &length, sizeof(length));
	if (*off == UINT32_MAX ||
	    jitreg_bytes_append(m->to, head->data, head->size) == UINT32_MAX ||
	    jitreg_bytes_append(m->to, rules->at, rules_size) == UINT32_MAX ||
	    jitreg_bytes_append(m->to, padding, length - content) == UINT32_MAX)
		return -ENOMEM;
	return 0;
}

static int add_cie(struct move *m, const struct cie *cie)
{
	struct cie *added = jitreg_add(&m->cies, &m->cie_count, sizeof(*added));

	if (!added)
		return -ENOMEM;
	*added = *cie;
	return 0;
}

/* Whether there are letters that remain in both forms of section. */
static bool has_letters(const struct jitreg_cie *cie)
{
	return cie->signal || cie->second_key;
}

static void put_augmentation(struct head *head, const struct jitreg_cie *cie, bool eh)
{
	if (eh || has_letters(cie))
		frames_put(head, 'z', 1);
	if (eh)
		frames_put(head, 'R', 1);
	if (cie->signal)
		frames_put(head, 'S', 1);
	if (cie->second_key)
		frames_put(head, 'B', 1);
	frames_put(head, 0, 1);
}

static int move_cie(struct move *m, size_t off, struct jitreg_cursor c)
{
	bool eh = m->form == JITREG_FRAMES_EH;
	struct cie cie = {.from = off};
	struct head head = {0};
	int r;

	if (!jitreg_eh_frame_cie(c, &cie.parts) || cie.parts.return_register > UINT8_MAX ||
	    !rules_can_move(&cie.parts.rules))
		return -ENOEXEC;
	frames_put(&head, eh ? 0 : UINT32_MAX, 4);
	frames_put(&head, 1, 1);
	put_augmentation(&head, &cie.parts, eh);
	head.size += jitreg_put_uleb(head.data + head.size, cie.parts.code_factor);
	head.size += jitreg_put_sleb(head.data + head.size, cie.parts.data_factor);
	frames_put(&head, cie.parts.return_register, 1);
	if (eh || has_letters(&cie.parts))
		frames_put(&head, eh, 1); // size of the augmentation
	if (eh)
		frames_put(&head, DW_EH_PE_pcrel | DW_EH_PE_sdata8, 1);
	r = append_entry(m, &head, &cie.parts.rules, &cie.to);
	return r ? r : add_cie(m, &cie);
}

static int by_place(const void *key, const void *cie)
{
	size_t off = *(const size_t *)key, from = ((const struct cie *)cie)->from;

	return off < from ? -1 : off > from;
}

static int move_fde(struct move *m, size_t cie_off, struct jitreg_cursor c)
{
	const struct cie *cie = m->cie_count ? bsearch(&cie_off, m->cies, m->cie_count,
						       sizeof(*cie), by_place) : NULL;
	bool eh = m->form == JITREG_FRAMES_EH;
	uint64_t here = m->to->size + 4, start, size; // behind the length
	struct head head = {0};
	uint32_t off;

	if (!cie)
		return -ENOEXEC;
	start = jitreg_eh_frame_address(&c, cie->parts.encoding,
					m->from->vaddr - (uintptr_t)m->from->data) +
		m->from->delta;
	size = jitreg_cursor_number(&c, (unsigned)jitreg_eh_frame_size(cie->parts.encoding));
	if (cie->parts.has_size)
		jitreg_cursor_skip(&c, jitreg_cursor_uleb(&c));
	if (c.bad || !rules_can_move(&c))
		return -ENOEXEC;
	// The linker can leave entries of functions that it has dropped.
	if (!size || start < m->from->start || start >= m->from->end)
		return 0;
	frames_put(&head, eh ? here - cie->to : cie->to, 4);
	frames_put(&head, eh ? start - (m->to_vaddr + here + 4) : start, 8);
	frames_put(&head, size, 8);
	if (eh || has_letters(&cie->parts))
		frames_put(&head, 0, 1); // size of the augmentation
	return append_entry(m, &head, &c, &off);
}

static int move_all(struct move *m)
{
	struct jitreg_cursor c = {.at = m->from->data, .end = m->from->data + m->from->size}, entry;
	int r = 0;

	for (size_t off = 0; !r && jitreg_cursor_more(&c) && jitreg_eh_frame_next(&c, &entry);
	     off = (size_t)(c.at - m->from->data)) {
		size_t id_off = (size_t)(entry.at - m->from->data);
		uint64_t id = jitreg_cursor_number(&entry, 4);

		if (entry.bad || id > id_off)
			return -ENOEXEC;
		r = id ? move_fde(m, id_off - id, entry) : move_cie(m, off, entry);
	}
	return r || !c.bad ? r : -ENOEXEC;
}

int jitreg_frames_append(struct jitreg_bytes *to, uint64_t to_vaddr,
			 enum jitreg_frames_form form, const struct jitreg_frames *from)
{
	struct move m = {
		.to = to,
		.to_vaddr = to_vaddr,
		.form = form,
		.from = from,
	};
	int r = move_all(&m);

	free(m.cies);
	return r;
}

int jitreg_frames_check(const uint8_t *from, size_t size, uint64_t vaddr)
{
	const struct jitreg_frames frames = {
		.data = from, .size = size, .vaddr = vaddr, .end = UINT64_MAX};
	struct jitreg_bytes to = {0};
	int r = jitreg_frames_append(&to, 0, JITREG_FRAMES_DEBUG, &frames);

	jitreg_bytes_deinit(&to);
	return r;
}
