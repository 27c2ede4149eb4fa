// SPDX-License-Identifier: MIT
// What is wrong with an .eh_frame that the unwinder would read for everybody.
//
// Frames that are registered by hand are read from the first record to the last by the next
// throw of anybody in the process, to sort them by the addresses that they are for. For each
// FDE that is: the CIE that it points to, up to the encoding of addresses, and two addresses.
// All of that must be inside, of a kind that the unwinder knows: it ends the process otherwise.
// What else is in a record is read only for an exception through its code, as from a library
// of the system's linker.
//
// Stricter than the unwinder: addresses are 2, 4 or 8 bytes, absolute or relative to their place.
// Linkers write no others into .eh_frame.
//
// Specification: LSB, "Exception Frames"; DWARF 5, 6.4.1. The unwinder: libgcc, unwind-dw2-fde.c.

#include "eh_frame.h"

#include <stddef.h>
#include <string.h>

// Bytes of a record that are not read yet.
struct reader {
	const uint8_t *p, *end;
	bool failed;
};

static uint8_t read_byte(struct reader *r)
{
	if (r->p < r->end)
		return *r->p++;
	r->failed = true;
	return 0;
}

static void frames_skip(struct reader *r, size_t size)
{
	if ((size_t)(r->end - r->p) < size) {
		r->failed = true;
		r->p = r->end;
	} else {
		r->p += size;
	}
}

static void skip_leb128(struct reader *r)
{
	// The unwinder shifts by 7 for each byte: no more than fill 64 bits.
	for (unsigned i = 0; i < 10; i++)
		if (!(read_byte(r) & 0x80))
			return;
	r->failed = true;
}

// Of an augmentation: "zPLR" is the longest that is in use.
#define LETTERS_MAX 16

enum {
	PE_FORMAT = 0x0f,
	PE_APPLICATION = 0x70,
	PE_PCREL = 0x10,
	PE_ALIGNED = 0x50,
	PE_INDIRECT = 0x80,
};

// 0 for a format that is not one of fixed size.
static size_t encoded_size(uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case 0x00: // absptr
	case 0x04: // udata8
	case 0x0c: // sdata8
		return 8;
	case 0x03: // udata4
	case 0x0b: // sdata4
		return 4;
	case 0x02: // udata2
	case 0x0a: // sdata2
		return 2;
	default:
		return 0;
	}
}

static bool is_address(uint8_t encoding)
{
	uint8_t application = encoding & PE_APPLICATION;

	return encoded_size(encoding) && !(encoding & PE_INDIRECT) &&
	       (!application || application == PE_PCREL);
}

// The encoding of an FDE's addresses, as far as the unwinder reads for that.
static bool read_augmentation(struct reader *r, const char *letters, uint8_t *encoding)
{
	skip_leb128(r); // size of what follows
	for (; *letters; letters++) {
		uint8_t personality;

		switch (*letters) {
		case 'R':
			*encoding = read_byte(r);
			return true;
		case 'P':
			personality = read_byte(r);
			if (!encoded_size(personality) || (personality & PE_APPLICATION) == PE_ALIGNED)
				return false;
			frames_skip(r, encoded_size(personality));
			break;
		case 'L':
			frames_skip(r, 1);
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool read_cie(struct reader *r, uint8_t *encoding)
{
	uint8_t version = read_byte(r);
	const char *letters = (const char *)r->p;
	size_t length = strnlen(letters, (size_t)(r->end - r->p));

	*encoding = 0; // absolute
	frames_skip(r, length + 1);
	if (r->failed || length > LETTERS_MAX || (version != 1 && version != 3 && version != 4))
		return false;
	if (version == 4) {
		uint8_t address_size = read_byte(r), segment_size = read_byte(r);

		if (address_size != 8 || segment_size)
			return false;
	}
	if (*letters != 'z')
		return !*letters || !strcmp(letters, "eh");
	skip_leb128(r); // code alignment
	skip_leb128(r); // data alignment
	if (version == 1)
		frames_skip(r, 1); // column of the return address
	else
		skip_leb128(r);
	return read_augmentation(r, letters + 1, encoding) && !r->failed;
}

// A record's bytes behind its length. False: it leaves [p, end).
static bool read_record(const uint8_t *p, const uint8_t *end, struct reader *ret)
{
	uint32_t length;

	if (end - p < 4)
		return false;
	memcpy(&length, p, 4);
	p += 4;
	*ret = (struct reader){p, p + length, false};
	return length != UINT32_MAX && length <= (size_t)(end - p);
}

static uint32_t read_word(struct reader *r)
{
	const uint8_t *p = r->p;
	uint32_t word = 0;

	frames_skip(r, sizeof(word));
	if (!r->failed)
		memcpy(&word, p, sizeof(word));
	return word;
}

// What FDEs know of the CIE that the last one had: a file has few, and thousands of FDEs.
struct known_cie {
	const uint8_t *record;
	uint8_t encoding;
};

static bool find_cie(const uint8_t *end, const uint8_t *record, struct known_cie *known)
{
	struct reader r;

	if (record == known->record)
		return true;
	known->record = record;
	return read_record(record, end, &r) && r.p + 4 <= r.end && !read_word(&r) &&
	       read_cie(&r, &known->encoding) && is_address(known->encoding);
}

static bool check_fde(const uint8_t *start, const uint8_t *end, const uint8_t *place, uint32_t delta,
		      struct reader *r, struct known_cie *known)
{
	if (delta > (uint64_t)(place - start) || delta > INT32_MAX ||
	    !find_cie(end, place - delta, known))
		return false;
	frames_skip(r, 2 * encoded_size(known->encoding));
	return !r->failed;
}

static bool frames_walk(const uint8_t *start, uint64_t size, bool deep)
{
	const uint8_t *end = start + size;
	struct known_cie known = {0};
	struct reader r;

	for (const uint8_t *p = start; read_record(p, end, &r); p = r.end) {
		const uint8_t *place = r.p;
		uint32_t delta;

		if (r.p == r.end)
			return true;
		if (!deep)
			continue;
		delta = read_word(&r);
		if (r.failed || (delta && !check_fde(start, end, place, delta, &r, &known)))
			return false;
	}
	return false;
}

bool gorgon_eh_frame_is_terminated(const uint8_t *start, uint64_t size)
{
	return frames_walk(start, size, false);
}

bool gorgon_eh_frame_is_sound(const uint8_t *start, uint64_t size)
{
	return frames_walk(start, size, true);
}
