// SPDX-License-Identifier: MIT
/*
 * Unwind data moved: from the .eh_frame of an object into a section for several.
 *
 *     CIE   length, id, version, augmentation, alignment factors, return address, rules
 *     FDE   length, CIE, first address, size of the range, rules
 *
 * The rules are copied. Addresses are rewritten. Personality routines and tables of
 * handlers are for exceptions and left out. Of the augmentation remain 'S' (a signal frame),
 * which debuggers understand in a .debug_frame, too, and in an .eh_frame 'R' (form of
 * addresses).
 *
 * DW_CFA_set_loc in the rules would have an address in the form of the augmentation. No
 * compiler writes it (they advance from the first address); such data is refused. So are
 * entries with lengths of 64 bits: nobody writes them, and readers do not agree what they mean.
 *
 * Specifications: DWARF 5 section 6.4; Linux Standard Base, "Exception Frames".
 */
#include "frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PE_ABSPTR = 0x00,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_PCREL = 0x10,
	PE_ALIGNED = 0x50,
	PE_OMIT = 0xff,
};

enum {
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_WINDOW_SAVE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

/* Bytes of 64 bits in LEB128. */
#define MAX_LEB 10

/* A place in the .eh_frame that is read. Reading beyond the end sets `bad`. */
struct cursor {
	const uint8_t *at, *end;
	bool bad;
};

struct cie {
	size_t from;	 // offset in the old section
	uint32_t to;	  // in the new one
	uint8_t encoding; // of addresses in its FDEs
	bool has_size;	 // its FDEs have an augmentation that says how long it is
	bool signal;
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
	size_t cie_count, cie_capacity;
};

static uint64_t read_fixed(struct cursor *c, size_t size)
{
	uint64_t value = 0;

	if ((size_t)(c->end - c->at) < size) {
		c->bad = true;
		c->at = c->end;
		return 0;
	}
	memcpy(&value, c->at, size); // little-endian, as everything that this library registers
	c->at += size;
	return value;
}

/* Skips over a signed one just as well. */
static uint64_t read_leb(struct cursor *c)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = read_fixed(c, 1);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->bad);
	return value;
}

static void skip(struct cursor *c, uint64_t size)
{
	if ((uint64_t)(c->end - c->at) < size) {
		c->bad = true;
		size = 0;
	}
	c->at += size;
}

static size_t encoded_size(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case PE_UDATA4:
	case PE_SDATA4:
		return 4;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return 8;
	default:
		return 0;
	}
}

static bool is_known(uint8_t encoding)
{
	return encoded_size(encoding) && ((encoding & 0xf0) == 0 || (encoding & 0xf0) == PE_PCREL);
}

static uint64_t read_encoded(const struct move *m, struct cursor *c, uint8_t encoding)
{
	uint64_t place = m->from->vaddr + (uint64_t)(c->at - m->from->data);
	uint64_t value = read_fixed(c, encoded_size(encoding));

	if ((encoding & 0x0f) == PE_SDATA4)
		value = (uint64_t)(int64_t)(int32_t)value;
	return encoding & PE_PCREL ? place + value : value;
}

bool jitreg_frames_read_rules(const uint8_t *rules, size_t size, struct jitreg_rules *ret)
{
	struct cursor c = {.at = rules, .end = rules + size};

	*ret = (struct jitreg_rules){0};
	while (c.at < c.end) {
		uint8_t op = (uint8_t)read_fixed(&c, 1);

		switch (op & 0xc0 ? op & 0xc0 : op) {
		case 0x00: // nop, padding
			continue;
		case 0x40:
			ret->advance += op & 0x3f;
			break;
		case 0xc0: // restore
		case CFA_GNU_WINDOW_SAVE:
			break;
		case CFA_REMEMBER_STATE:
			ret->open++;
			break;
		case CFA_RESTORE_STATE:
			if (ret->open)
				ret->open--;
			else
				ret->odd = true;
			break;
		case 0x80: // offset
		case CFA_RESTORE_EXTENDED:
		case CFA_UNDEFINED:
		case CFA_SAME_VALUE:
		case CFA_DEF_CFA_REGISTER:
		case CFA_DEF_CFA_OFFSET:
		case CFA_DEF_CFA_OFFSET_SF:
		case CFA_GNU_ARGS_SIZE:
			read_leb(&c);
			break;
		case CFA_ADVANCE_LOC1:
			ret->advance += read_fixed(&c, 1);
			break;
		case CFA_ADVANCE_LOC2:
			ret->advance += read_fixed(&c, 2);
			break;
		case CFA_ADVANCE_LOC4:
			ret->advance += read_fixed(&c, 4);
			break;
		case CFA_OFFSET_EXTENDED:
		case CFA_REGISTER:
		case CFA_DEF_CFA:
		case CFA_OFFSET_EXTENDED_SF:
		case CFA_DEF_CFA_SF:
		case CFA_VAL_OFFSET:
		case CFA_VAL_OFFSET_SF:
		case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
			read_leb(&c);
			read_leb(&c);
			break;
		case CFA_DEF_CFA_EXPRESSION:
			skip(&c, read_leb(&c));
			break;
		case CFA_EXPRESSION:
		case CFA_VAL_EXPRESSION:
			read_leb(&c);
			skip(&c, read_leb(&c));
			break;
		default: // CFA_SET_LOC, and what this does not know
			return false;
		}
		if (c.bad)
			return false;
		ret->size = (size_t)(c.at - rules);
	}
	return true;
}

static bool rules_can_move(const struct cursor *c)
{
	struct jitreg_rules rules;

	return jitreg_frames_read_rules(c->at, (size_t)(c->end - c->at), &rules);
}


static void put_bytes(struct head *head, const void *data, size_t size)
{
	memcpy(head->data + head->size, data, size);
	head->size += size;
}

static void put(struct head *head, uint64_t value, size_t size)
{
	put_bytes(head, &value, size);
}

static void put_leb(struct head *head, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		put(head, value | 0x80, 1);
	put(head, value, 1);
}

/* Length, contents, padding; the offset of the length. */
static int append_entry(const struct move *m, const struct head *head, const struct cursor *rules,
			uint32_t *off)
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

/* Behind the version: what the augmentation says, up to the rules. */
static bool read_augmentation(struct cursor *c, struct cie *cie, uint64_t *code_align,
			      struct cursor *data_align, uint64_t *return_register, uint8_t version)
{
	const char *text = (const char *)c->at;
	const uint8_t *nul = memchr(c->at, '\0', (size_t)(c->end - c->at));
	struct cursor data;
	uint64_t size;

	if (!nul)
		return false;
	c->at = nul + 1;
	*code_align = read_leb(c);
	data_align->at = c->at;
	read_leb(c);
	data_align->end = c->at;
	*return_register = version == 1 ? read_fixed(c, 1) : read_leb(c);
	if (!*text)
		return !c->bad;
	if (*text++ != 'z')
		return false;
	cie->has_size = true;
	size = read_leb(c);
	data = (struct cursor){.at = c->at, .end = c->end};
	skip(c, size);
	data.end = c->at;
	for (; *text; text++) {
		switch (*text) {
		case 'R':
			cie->encoding = (uint8_t)read_fixed(&data, 1);
			break;
		case 'L':
			read_fixed(&data, 1);
			break;
		case 'P': {
			uint8_t encoding = (uint8_t)read_fixed(&data, 1);

			if (encoding == PE_OMIT || encoding == PE_ALIGNED || !encoded_size(encoding))
				return false;
			skip(&data, encoded_size(encoding));
			break;
		}
		case 'S':
			cie->signal = true;
			break;
		default:
			return false;
		}
	}
	return !c->bad && !data.bad && is_known(cie->encoding);
}

static int add_cie(struct move *m, const struct cie *cie)
{
	if (m->cie_count == m->cie_capacity) {
		size_t capacity = m->cie_capacity ? 2 * m->cie_capacity : 64;
		struct cie *grown = reallocarray(m->cies, capacity, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		m->cies = grown;
		m->cie_capacity = capacity;
	}
	m->cies[m->cie_count++] = *cie;
	return 0;
}

static int move_cie(struct move *m, size_t off, struct cursor c)
{
	struct cie cie = {.from = off, .encoding = PE_ABSPTR};
	uint64_t code_align, return_register;
	struct cursor data_align;
	uint8_t version = (uint8_t)read_fixed(&c, 1);
	bool eh = m->form == JITREG_FRAMES_EH;
	struct head head = {0};
	int r;

	if ((version != 1 && version != 3) ||
	    !read_augmentation(&c, &cie, &code_align, &data_align, &return_register, version) ||
	    data_align.end - data_align.at > MAX_LEB || return_register > UINT8_MAX ||
	    !rules_can_move(&c))
		return -ENOEXEC;
	put(&head, eh ? 0 : UINT32_MAX, 4);
	put(&head, 1, 1);
	if (eh)
		put_bytes(&head, cie.signal ? "zRS" : "zR", cie.signal ? 4 : 3);
	else
		put_bytes(&head, cie.signal ? "zS" : "", cie.signal ? 3 : 1);
	put_leb(&head, code_align);
	put_bytes(&head, data_align.at, (size_t)(data_align.end - data_align.at));
	put(&head, return_register, 1);
	if (eh || cie.signal)
		put(&head, eh, 1); // size of the augmentation
	if (eh)
		put(&head, PE_PCREL | PE_SDATA8, 1);
	r = append_entry(m, &head, &c, &cie.to);
	return r ? r : add_cie(m, &cie);
}

static int by_place(const void *key, const void *cie)
{
	size_t off = *(const size_t *)key, from = ((const struct cie *)cie)->from;

	return off < from ? -1 : off > from;
}

static int move_fde(struct move *m, size_t cie_off, struct cursor c)
{
	const struct cie *cie = m->cie_count ? bsearch(&cie_off, m->cies, m->cie_count,
						       sizeof(*cie), by_place) : NULL;
	bool eh = m->form == JITREG_FRAMES_EH;
	uint64_t here = m->to->size + 4, start, size; // behind the length
	struct head head = {0};
	uint32_t off;

	if (!cie)
		return -ENOEXEC;
	start = read_encoded(m, &c, cie->encoding) + m->from->delta;
	size = read_fixed(&c, encoded_size(cie->encoding));
	if (cie->has_size)
		skip(&c, read_leb(&c));
	if (c.bad || !rules_can_move(&c))
		return -ENOEXEC;
	// Functions that the linker has dropped can keep an entry.
	if (!size || start < m->from->start || start >= m->from->end)
		return 0;
	put(&head, eh ? here - cie->to : cie->to, 4);
	put(&head, eh ? start - (m->to_vaddr + here + 4) : start, 8);
	put(&head, size, 8);
	if (eh || cie->signal)
		put(&head, 0, 1); // size of the augmentation
	return append_entry(m, &head, &c, &off);
}

static int move_all(struct move *m)
{
	struct cursor c = {.at = m->from->data, .end = m->from->data + m->from->size};
	int r = 0;

	while (!r && c.at < c.end) {
		size_t off = (size_t)(c.at - m->from->data), id_off;
		uint64_t length = read_fixed(&c, 4), id;
		struct cursor entry;

		if (!length) // a terminator, or padding at the end
			break;
		entry.at = c.at;
		entry.bad = false;
		skip(&c, length);
		entry.end = c.at;
		if (c.bad || length == UINT32_MAX) // which announces one of 64 bits
			return -ENOEXEC;
		id_off = (size_t)(entry.at - m->from->data);
		id = read_fixed(&entry, 4);
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
