// SPDX-License-Identifier: MIT
// The code of lines/machine.h.

#include "python/lines/machine.h"

#include <string.h>

#define LAST \
	(GORGON_LINES_EVALUATE + GORGON_LINES_EVALUATE_ALL * GORGON_LINES_EVALUATE_SIZE)

_Static_assert(LAST + GORGON_LINES_EVALUATE_SIZE <= GORGON_LINES_PAGE_SIZE, "one page");

static void put_link(uint8_t *code, size_t end, const void *link)
{
	int32_t distance = (int32_t)((const uint8_t *)link - (code + end));

	memcpy(code + end - 4, &distance, sizeof(distance));
}

// How many bytes the first instruction has; 0: it is none of those that compilers begin these
// functions with and that may be elsewhere.
static size_t instruction_size(const uint8_t *code)
{
	static const struct {
		uint8_t size, bytes[4];
	} known[] = {
		{4, {0xf3, 0x0f, 0x1e, 0xfa}}, // endbr64
		{3, {0x48, 0x89, 0xe5}},       // mov %rsp,%rbp
		{3, {0x48, 0x89, 0xfb}},       // mov %rdi,%rbx
		{4, {0x48, 0x8b, 0x57, 0x10}}, // mov 16(%rdi),%rdx
		{3, {0x8b, 0x4f, 0x20}},       // mov 32(%rdi),%ecx
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!memcmp(code, known[i].bytes, known[i].size))
			return known[i].size;
	if ((*code & 0xf8) == 0x50) // push
		return 1;
	return *code == 0x41 && (code[1] & 0xf8) == 0x50 ? 2 : 0;
}

// Copy what a jump at the beginning of @function, to @target, replaces, and a jump to the rest.
static bool take_beginning(uint8_t *copy, const uint8_t *function, const uint8_t *target,
			   uint64_t *rest, uint8_t *jump)
{
	const int64_t distance = target - (function + GORGON_LINES_JUMP_SIZE);
	const int32_t near = (int32_t)distance;
	size_t size = 0, next;

	for (; size < GORGON_LINES_JUMP_SIZE; size += next)
		if (!(next = instruction_size(function + size)))
			return false;
	if (near != distance)
		return false;
	memcpy(copy, function, size);
	copy[size] = 0xff; // jmp *rest(%rip)
	copy[size + 1] = 0x25;
	put_link(copy, size + 6, rest);
	*rest = (uintptr_t)function + size;
	jump[0] = 0xe9;
	memcpy(jump + 1, &near, sizeof(near));
	return true;
}

bool gorgon_lines_write_evaluator(uint8_t *code, struct gorgon_lines_links *links,
				  const uint8_t *evaluator, uint8_t *jump)
{
	uint8_t *copy = code + GORGON_LINES_EVALUATOR;

	if (!take_beginning(copy, evaluator, code + GORGON_LINES_FRAME, &links->rest, jump))
		return false;
	links->evaluator = (uintptr_t)copy;
	return true;
}

bool gorgon_lines_write_depth(uint8_t *code, struct gorgon_lines_links *links,
			      const uint8_t *function, uint8_t *jump)
{
	static const uint8_t depth[] = {
		0x48, 0x8b, 0x15, 0, 0, 0, 0, // mov ctx(%rip),%rdx
		0xff, 0x25, 0,    0, 0, 0,    // jmp *depth(%rip)
	};

	memcpy(code + GORGON_LINES_DEPTH, depth, sizeof(depth));
	put_link(code, GORGON_LINES_DEPTH + 7, &links->ctx);
	put_link(code, GORGON_LINES_DEPTH + 13, &links->depth);
	return take_beginning(code + GORGON_LINES_DEPTH_COPY, function, code + GORGON_LINES_DEPTH,
			      &links->depth_rest, jump);
}

void gorgon_lines_write_code(uint8_t *code, int32_t newest)
{
	const struct gorgon_lines_links *links = (const void *)(code + GORGON_LINES_PAGE_SIZE);
	static const uint8_t frame[] = {
		0x53,                                        //   0: push %rbx
		0x55,                                        //   1: push %rbp
		0x41, 0x54,                                  //   2: push %r12
		0x41, 0x55,                                  //   4: push %r13
		0x41, 0x56,                                  //   6: push %r14
		0x41, 0x57,                                  //   8: push %r15
		0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0,    0, 0, // 10: mov %fs:newest,%rax
		0x6a, 0x00,                                  //  19: push $0		entry
		0x50,                                        //  21: push %rax		older
		0x6a, 0x00,                                  //  22: push $0		waiting
		0x90,                                        //  24: nop
		0x57,                                        //  25: push %rdi		state
		0x56,                                        //  26: push %rsi		frame
		0x48, 0x89, 0xe3,                            //  27: mov %rsp,%rbx
		0x64, 0x48, 0x89, 0x1c, 0x25, 0, 0,    0, 0, // 30: mov %rbx,%fs:newest
		0x8b, 0x47, 0x24,                            //  39: mov 36(%rdi),%eax
		0xf7, 0xd0,                                  //  42: not %eax
		0x23, 0x05, 0,    0,    0,    0,             //  44: and counted(%rip),%eax
		0x78, 0x49,                                  //  50: js 125
		0x83, 0x3d, 0,    0,    0,    0, 0x00,       //  52: cmpl $0,active(%rip)
		0x75, 0x40,                                  //  59: jne 125
		0x48, 0x8b, 0x05, 0,    0,    0, 0,          //  61: mov watched(%rip),%rax
		0x80, 0x38, 0xcc,                            //  68: cmpb $0xcc,(%rax)
		0x74, 0x34,                                  //  71: je 125
		0xff, 0x15, 0,    0,    0,    0,             //  73: call *evaluator(%rip)
		0x48, 0x8b, 0x4c, 0x24, 0x18,                //  79: mov 24(%rsp),%rcx
		0x64, 0x48, 0x89, 0x0c, 0x25, 0, 0,    0, 0, //  84: mov %rcx,%fs:newest
		0x80, 0x7c, 0x24, 0x20, 0x00,                //  93: cmpb $0,32(%rsp)	entry
		0x75, 0x3d,                                  //  98: jne 161
		0x83, 0x3d, 0,    0,    0,    0, 0x00,       // 100: cmpl $0,active(%rip)
		0x75, 0x34,                                  // 107: jne 161
		0x48, 0x83, 0xc4, 0x28,                      // 109: add $40,%rsp
		0x41, 0x5f,                                  // 113: pop %r15
		0x41, 0x5e,                                  // 115: pop %r14
		0x41, 0x5d,                                  // 117: pop %r13
		0x41, 0x5c,                                  // 119: pop %r12
		0x5d,                                        // 121: pop %rbp
		0x5b,                                        // 122: pop %rbx
		0xc3,                                        // 123: ret
		0x90,                                        // 124: nop
		0x49, 0x89, 0xfc,                            // 125: mov %rdi,%r12
		0x49, 0x89, 0xf5,                            // 128: mov %rsi,%r13
		0x41, 0x89, 0xd6,                            // 131: mov %edx,%r14d
		0x48, 0x8b, 0x3d, 0,    0,    0, 0,          // 134: mov ctx(%rip),%rdi
		0x48, 0x89, 0xde,                            // 141: mov %rbx,%rsi
		0xff, 0x15, 0,    0,    0,    0,             // 144: call *before(%rip)
		0x4c, 0x89, 0xe7,                            // 150: mov %r12,%rdi
		0x4c, 0x89, 0xee,                            // 153: mov %r13,%rsi
		0x44, 0x89, 0xf2,                            // 156: mov %r14d,%edx
		0xeb, 0xa8,                                  // 159: jmp 73
		0x49, 0x89, 0xc4,                            // 161: mov %rax,%r12
		0x48, 0x8b, 0x3d, 0,    0,    0, 0,          // 164: mov ctx(%rip),%rdi
		0x48, 0x89, 0xde,                            // 171: mov %rbx,%rsi
		0xff, 0x15, 0,    0,    0,    0,             // 174: call *after(%rip)
		0x4c, 0x89, 0xe0,                            // 180: mov %r12,%rax
		0xeb, 0xb4,                                  // 183: jmp 109
	};
	static const uint8_t tracer[] = {
		0x4c, 0x8b, 0x05, 0, 0, 0, 0, // mov ctx(%rip),%r8
		0xff, 0x25, 0,    0, 0, 0,    // jmp *tracer(%rip)
	};
	static const uint8_t leave[] = {
		0x8f, 0x45, 0x08,       // pop 8(%rbp)
		0x48, 0x8b, 0x65, 0x00, // mov (%rbp),%rsp
		0xc3,                   // ret
	};
	static const uint8_t raised[] = {0x41, 0xff, 0xe2}; // jmp *%r10
	static const uint8_t evaluate[] = {
		0x5e,                         // pop %rsi
		0x48, 0x8b, 0x15, 0, 0, 0, 0, // mov ctx(%rip),%rdx
		0x48, 0x8d, 0x0d, 0, 0, 0, 0, // lea EVALUATE(%rip),%rcx
		0x48, 0x29, 0xce,             // sub %rcx,%rsi		of the end of the call
		0xff, 0x25, 0,    0, 0, 0,    // jmp *evaluate(%rip)
	};

	memset(code, 0x90, GORGON_LINES_PAGE_SIZE);
	memcpy(code + GORGON_LINES_FRAME, frame, sizeof(frame));
	memcpy(code + GORGON_LINES_TRACER, tracer, sizeof(tracer));
	memcpy(code + GORGON_LINES_LEAVE, leave, sizeof(leave));
	gorgon_lines_write_stub(code + GORGON_LINES_GENERIC);
	memcpy(code + GORGON_LINES_RAISED + 1, raised, sizeof(raised));
	memcpy(code + GORGON_LINES_UNCAUGHT + 1, raised, sizeof(raised));
	memcpy(code + GORGON_LINES_CODE_SIZE, evaluate, sizeof(evaluate));
	for (int32_t at = GORGON_LINES_EVALUATE; at <= LAST; at += GORGON_LINES_EVALUATE_SIZE) {
		const int32_t distance =
			GORGON_LINES_CODE_SIZE - (at + GORGON_LINES_EVALUATE_SIZE);

		code[at] = 0xe8; // call
		memcpy(code + at + 1, &distance, sizeof(distance));
	}
	memcpy(code + 15, &newest, sizeof(newest));
	memcpy(code + 35, &newest, sizeof(newest));
	memcpy(code + 89, &newest, sizeof(newest));
	put_link(code, 50, &links->counted);
	put_link(code, 58, (const uint8_t *)&links->active - 1); // a byte follows the distance
	put_link(code, 68, &links->watched);
	put_link(code, 79, &links->evaluator);
	put_link(code, 106, (const uint8_t *)&links->active - 1);
	put_link(code, 141, &links->ctx);
	put_link(code, 150, &links->before);
	put_link(code, 171, &links->ctx);
	put_link(code, 180, &links->after);
	put_link(code, GORGON_LINES_TRACER + 7, &links->ctx);
	put_link(code, GORGON_LINES_TRACER + 13, &links->tracer);
	put_link(code, GORGON_LINES_CODE_SIZE + 8, &links->ctx);
	put_link(code, GORGON_LINES_CODE_SIZE + 15, code + GORGON_LINES_EVALUATE);
	put_link(code, GORGON_LINES_CODE_SIZE + 24, &links->evaluate);
}
