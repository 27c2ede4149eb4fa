// SPDX-License-Identifier: MIT
// This library has writable data, and most pages of the data have no relocations, whether pages have 4 or 64 KiB. Its zeros begin in the
// middle of a page.

#define EXPORT __attribute__((visibility("default")))

#define EIGHT(x)   x, x, x, x, x, x, x, x
#define MANY(x)	   EIGHT(EIGHT(EIGHT(EIGHT(EIGHT(x)))))
#define ODD_NUMBER 77

EXPORT long constants_table[2 * 32768] = {MANY(1), MANY(2)};
EXPORT long *constants_pointer = constants_table;
EXPORT char constants_last[ODD_NUMBER] = "last";
EXPORT char constants_zeros[3 * 65536];
