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
// Stricter than the unwinder, which knows more encodings and augmentations: see
// jitreg/file/eh_frame.h.
//
// Specification: LSB, "Exception Frames". The unwinder: libgcc, unwind-dw2-fde.c.

#include "eh_frame.h"
#include "file/eh_frame.h"

// What FDEs know of the CIE that the last one had: a file has few, and thousands of FDEs.
struct known_cie {
	const uint8_t *record;
	struct jitreg_cie cie;
};

static bool find_cie(const uint8_t *end, const uint8_t *record, struct known_cie *known)
{
	struct jitreg_cursor c = {.at = record, .end = end}, contents;

	if (record == known->record)
		return true;
	known->record = record;
	return jitreg_eh_frame_next(&c, &contents) && !jitreg_cursor_number(&contents, 4) &&
	       jitreg_eh_frame_cie(contents, &known->cie);
}

static bool check_fde(const uint8_t *start, const uint8_t *end, struct jitreg_cursor c,
		      struct known_cie *known)
{
	const uint8_t *place = c.at;
	uint64_t delta = jitreg_cursor_number(&c, 4);

	if (c.bad)
		return false;
	if (!delta) // a CIE
		return true;
	if (delta > (uint64_t)(place - start) || delta > INT32_MAX ||
	    !find_cie(end, place - delta, known))
		return false;
	jitreg_cursor_skip(&c, 2 * jitreg_eh_frame_size(known->cie.encoding));
	return !c.bad;
}

static bool frames_walk(const uint8_t *start, uint64_t size, bool deep)
{
	struct jitreg_cursor c = {.at = start, .end = start + size}, contents;
	struct known_cie known = {0};

	while (jitreg_eh_frame_next(&c, &contents))
		if (deep && !check_fde(start, c.end, contents, &known))
			return false;
	return !c.bad && contents.at == c.at; // a terminator
}

bool gorgon_eh_frame_is_terminated(const uint8_t *start, uint64_t size)
{
	return frames_walk(start, size, false);
}

bool gorgon_eh_frame_is_sound(const uint8_t *start, uint64_t size)
{
	return frames_walk(start, size, true);
}
