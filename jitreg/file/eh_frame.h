/* SPDX-License-Identifier: MIT */
/**
 * @file Records of `.eh_frame`: who reads them takes them apart by these functions. Internal to
 * jitreg and the loader.
 *
 *     CIE   length, 0, version, augmentation, alignment factors, return address, rules
 *     FDE   length, distance to its CIE, first address, size of the range, rules
 *
 * Addresses are 2, 4 or 8 bytes, absolute or relative to their place: linkers write no others. A
 * record with a length of 64 bits is damaged: no compiler writes it, and readers do not agree what
 * it means. Nothing here takes a lock or memory, so handlers of signals may read by it, too.
 *
 * Specification: LSB, "Exception Frames"; DWARF 5, 6.4.1; DWARF for the Arm 64-bit Architecture,
 * "Augmentation".
 */
#ifndef JITREG_EH_FRAME_H
#define JITREG_EH_FRAME_H

#include "file/cursor.h"

/** What the FDEs of a CIE have in common. */
struct jitreg_cie {
	uint64_t code_factor;
	int64_t data_factor;
	uint64_t return_register;
	uint8_t encoding; /**< of addresses */
	bool has_size;	  /**< FDEs have an augmentation that says how long it is */
	bool signal;	  /**< 'S': a signal frame */
	bool second_key;  /**< 'B', of aarch64: return addresses are signed with the second key */
	struct jitreg_cursor rules;
};

/**
 * Read the length of a record. @p ret becomes what follows it, @p c goes behind it. False: there is
 * no further one, because of a terminator, or because @p c is bad now.
 */
bool jitreg_eh_frame_next(struct jitreg_cursor *c, struct jitreg_cursor *ret);

/** Read what follows the 0 of a CIE. False: it is damaged, or of a kind that nobody writes. */
bool jitreg_eh_frame_cie(struct jitreg_cursor c, struct jitreg_cie *ret);

/** The size of an address; 0: its encoding is not one of those above. */
size_t jitreg_eh_frame_size(uint8_t encoding);

/** Read an address. @p bias is what is added to the place of a byte here to get its address. */
uint64_t jitreg_eh_frame_address(struct jitreg_cursor *c, uint8_t encoding, uint64_t bias);

#endif
