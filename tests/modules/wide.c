// SPDX-License-Identifier: MIT
// Pages of data with relocations and without, of zeros, and of what is read-only after relocation.

extern long numbers[6000];
extern void *places[6000];
extern char zeros[60000];
extern void *const fixed[600];

long numbers[6000] = {1, [5999] = 2};
void *places[6000] = {[0 ... 5999] = numbers};
char zeros[60000];
void *const fixed[600] = {[0 ... 599] = numbers};
