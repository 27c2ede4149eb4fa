// SPDX-License-Identifier: MIT
// What a compiler does at run time: unwind data in memory of its own, registered.

#define _GNU_SOURCE
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096

extern void __register_frame(void *begin);
extern void __deregister_frame(void *begin);

void *frames_make(void);
void frames_take_back(void *code);

// For all of the second page: the return address is at the stack pointer.
static const struct __attribute__((packed)) {
	uint32_t cie_size, cie_id;
	uint8_t version, augmentation, code_align, data_align, return_register;
	uint8_t def_cfa[3], offset[2], nop[6];
	uint32_t fde_size, cie_pointer;
	uint64_t start, size;
	uint32_t end;
} template = {
	.cie_size = 20,
	.version = 1,
	.code_align = 1,
	.data_align = 0x78, // -8
	.return_register = 16,
	.def_cfa = {0x0c, 7, 8},
	.offset = {0x90, 1},
	.fde_size = 20,
	.cie_pointer = 28,
	.size = PAGE,
};

void *frames_make(void)
{
	char *pages = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t start = (uint64_t)(uintptr_t)pages + PAGE;

	if (pages == MAP_FAILED)
		return NULL;
	memcpy(pages, &template, sizeof(template));
	memcpy(pages + __builtin_offsetof(__typeof__(template), start), &start, sizeof(start));
	__register_frame(pages);
	return pages + PAGE;
}

void frames_take_back(void *code)
{
	__deregister_frame((char *)code - PAGE);
}
