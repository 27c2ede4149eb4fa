/* SPDX-License-Identifier: MIT */
/* Records of .eh_frame: see eh_frame.h. */
#include "file/eh_frame.h"

#include <dwarf.h>

/* As many bytes as LEB128 takes for 64 bits: unwinders shift by 7 for each, whatever there is. */
#define LEB_MAX 10

#define FORMAT(encoding)      ((encoding) & 0x0f)
#define APPLICATION(encoding) ((encoding) & 0x70)

static size_t format_size(uint8_t encoding)
{
	switch (FORMAT(encoding)) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return 8;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		return 4;
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		return 2;
	default:
		return 0;
	}
}

size_t jitreg_eh_frame_size(uint8_t encoding)
{
	if (encoding & DW_EH_PE_indirect ||
	    (APPLICATION(encoding) && APPLICATION(encoding) != DW_EH_PE_pcrel))
		return 0;
	return format_size(encoding);
}

uint64_t jitreg_eh_frame_address(struct jitreg_cursor *c, uint8_t encoding, uint64_t bias)
{
	uint64_t place = bias + (uintptr_t)c->at, ret;
	size_t size = jitreg_eh_frame_size(encoding);

	if (!size)
		c->bad = true;
	ret = jitreg_cursor_number(c, (unsigned)size);
	if (FORMAT(encoding) == DW_EH_PE_sdata4)
		ret = (uint64_t)(int64_t)(int32_t)ret;
	if (FORMAT(encoding) == DW_EH_PE_sdata2)
		ret = (uint64_t)(int64_t)(int16_t)ret;
	return APPLICATION(encoding) ? place + ret : ret;
}

bool jitreg_eh_frame_next(struct jitreg_cursor *c, struct jitreg_cursor *ret)
{
	uint64_t length = jitreg_cursor_number(c, 4);

	if (length == UINT32_MAX)
		c->bad = true;
	*ret = *c;
	if (!length)
		return false;
	jitreg_cursor_skip(c, length);
	ret->end = c->at;
	return !c->bad;
}

/* The personality and the table of handlers are for exceptions. Only the size of the former counts
 * here. */
static bool read_letters(struct jitreg_cursor c, const char *letters, struct jitreg_cie *ret)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R':
			ret->encoding = (uint8_t)jitreg_cursor_number(&c, 1);
			break;
		case 'L':
			jitreg_cursor_skip(&c, 1);
			break;
		case 'P':
			encoding = (uint8_t)jitreg_cursor_number(&c, 1);
			if (!format_size(encoding) || APPLICATION(encoding) == DW_EH_PE_aligned)
				return false;
			jitreg_cursor_skip(&c, format_size(encoding));
			break;
		case 'S':
			ret->signal = true;
			break;
		case 'B':
			ret->second_key = true;
			break;
		case 'G': // the stack has tags
			break;
		default:
			return false;
		}
	}
	return !c.bad && jitreg_eh_frame_size(ret->encoding);
}

static bool read_augmentation(struct jitreg_cursor *c, const char *letters, struct jitreg_cie *ret)
{
	struct jitreg_cursor data;
	uint64_t size;

	ret->has_size = *letters == 'z';
	if (!ret->has_size)
		return !*letters;
	size = jitreg_cursor_uleb(c);
	data = *c;
	jitreg_cursor_skip(c, size);
	data.end = c->at;
	return !c->bad && read_letters(data, letters + 1, ret);
}

bool jitreg_eh_frame_cie(struct jitreg_cursor c, struct jitreg_cie *ret)
{
	uint64_t version = jitreg_cursor_number(&c, 1);
	const char *letters = jitreg_cursor_text(&c);
	const uint8_t *first;

	*ret = (struct jitreg_cie){.encoding = DW_EH_PE_absptr};
	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	// Version 4 has the sizes of addresses and of segments.
	if (version == 4 && jitreg_cursor_number(&c, 2) != sizeof(uint64_t))
		return false;
	first = c.at;
	ret->code_factor = jitreg_cursor_uleb(&c);
	if (c.at - first > LEB_MAX)
		return false;
	first = c.at;
	ret->data_factor = jitreg_cursor_sleb(&c);
	if (c.at - first > LEB_MAX)
		return false;
	first = c.at;
	ret->return_register = version == 1 ? jitreg_cursor_number(&c, 1) : jitreg_cursor_uleb(&c);
	if (c.at - first > LEB_MAX || !read_augmentation(&c, letters, ret))
		return false;
	ret->rules = c;
	return !c.bad;
}
