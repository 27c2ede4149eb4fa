/* SPDX-License-Identifier: MIT */
/* Functions whose unwind tables say in different ways where the caller's frame is, each interrupted by an instruction that
 * the processor refuses. DWARF numbers: rcx is 2, rbp 6, rsp 7, the return address 16; the factor of offsets is -8. */

#define ILLEGAL_SIZE 2 // of ud2, behind which the function goes on

/* Calls @function with a frame that its own tables find through rbp. */
void call_frame(void (*function)(void));
extern const char after_call[];
__asm__(".text\n"
	".type call_frame, @function\n"
	"call_frame:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset %rbp, -16\n"
	"mov %rsp, %rbp\n"
	".cfi_def_cfa_register %rbp\n"
	"call *%rdi\n"
	"after_call:\n"
	"pop %rbp\n"
	".cfi_def_cfa %rsp, 8\n"
	"ret\n"
	".cfi_endproc\n"
	".size call_frame, .-call_frame\n");

#define E(...) ".cfi_escape " #__VA_ARGS__ "\n"
#define CFA(...) E(0x0f, __VA_ARGS__) // the size of the expression comes first
#define NOPS(count) "jmp 1f\n.skip " #count ", 0x90\n1:\n"

/* X(name, outcome, instructions and tables in front of the interrupted instruction, instructions behind it) */
#define PLAIN(X)                                                                                                       \
	X(as_compilers_say, GOES_ON, "", "")                                                                           \
	X(cfa_of_a_register, GOES_ON, "lea 8(%rsp), %rcx\n" E(0x0c, 2, 0), "")                                         \
	X(cfa_factored, GOES_ON, E(0x0c, 7, 0) E(0x12, 7, 0x7f), "")                                                   \
	X(cfa_offset_factored, GOES_ON, E(0x0c, 7, 0) E(0x13, 0x7f), "")                                               \
	X(cfa_register_alone, GOES_ON, "mov %rsp, %rcx\n" E(0x0d, 2), "")                                              \
	X(cfa_of_an_unknown_register, ENDS, E(0x0c, 100, 8), "")                                                       \
	X(cfa_that_goes_back, ENDS, E(0x12, 7, 1), "")                                                                  \
	X(expression_register, GOES_ON, CFA(2, 0x77, 8), "")                                                           \
	X(expression_plus, GOES_ON, CFA(4, 0x38, 0x77, 0, 0x22), "")                                                   \
	X(expression_minus_and_1_byte, GOES_ON, CFA(5, 0x77, 24, 0x08, 16, 0x1c), "")                                  \
	X(expression_2_bytes, GOES_ON, CFA(6, 0x77, 24, 0x0a, 16, 0, 0x1c), "")                                        \
	X(expression_4_bytes, GOES_ON, CFA(8, 0x77, 24, 0x0c, 16, 0, 0, 0, 0x1c), "")                                  \
	X(expression_8_bytes, GOES_ON, CFA(12, 0x77, 24, 0x0e, 16, 0, 0, 0, 0, 0, 0, 0, 0x1c), "")                     \
	X(expression_unsigned, GOES_ON, CFA(5, 0x77, 24, 0x10, 16, 0x1c), "")                                          \
	X(expression_signed, GOES_ON, CFA(5, 0x77, 16, 0x11, 0x78, 0x22), "")                                          \
	X(expression_dup_or, GOES_ON, CFA(4, 0x77, 8, 0x12, 0x21), "")                                                 \
	X(expression_dup_and, GOES_ON, CFA(4, 0x77, 8, 0x12, 0x1a), "")                                                \
	X(expression_plus_constant, GOES_ON, CFA(4, 0x77, 0, 0x23, 8), "")                                             \
	X(expression_product, GOES_ON, CFA(6, 0x32, 0x34, 0x1e, 0x77, 0, 0x22), "")                                    \
	X(expression_shift_left, GOES_ON, CFA(6, 0x31, 0x33, 0x24, 0x77, 0, 0x22), "")                                 \
	X(expression_shift_right, GOES_ON, CFA(7, 0x08, 64, 0x33, 0x25, 0x77, 0, 0x22), "")                            \
	X(expression_shift_of_all, GOES_ON, CFA(12, 0x31, 0x08, 64, 0x24, 0x31, 0x08, 64, 0x25, 0x21, 0x77, 8, 0x22), "") \
	X(expression_compares, GOES_ON, CFA(8, 0x31, 0x30, 0x2a, 0x33, 0x24, 0x77, 0, 0x22), "")                       \
	X(expression_unknown_operator, ENDS, CFA(4, 0x77, 8, 0x30, 0x15), "")                                          \
	X(expression_of_too_much, ENDS,                                                                                \
	  CFA(19, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x30, 0x77, 8), "") \
	X(expression_of_nothing, ENDS, CFA(1, 0x22), "")                                                               \
	X(expression_that_is_cut_off, ENDS, CFA(2, 0x0e, 0), "")                                                       \
	X(return_address_at_an_offset, GOES_ON, E(0x05, 16, 1), "")                                                    \
	X(return_address_at_a_signed_offset, GOES_ON, E(0x11, 16, 1), "")                                              \
	X(return_address_at_an_expression, GOES_ON, E(0x10, 16, 2, 0x38, 0x1c), "")                                    \
	X(return_address_of_an_expression, GOES_ON, E(0x16, 16, 3, 0x38, 0x1c, 0x06), "")                              \
	X(return_address_at_no_expression, ENDS, E(0x10, 16, 1, 0x15), "")                                             \
	X(return_address_in_a_register, GOES_ON, "mov (%rsp), %rcx\n" E(0x09, 16, 2), "")                              \
	X(return_address_in_no_register, ENDS, E(0x09, 16, 100), "")                                                   \
	X(return_address_undefined, ENDS, E(0x07, 16), "")                                                             \
	X(return_address_restored, GOES_ON, E(0x05, 16, 7) E(0x06, 16), "")                                            \
	X(return_address_restored_in_short, GOES_ON, E(0x05, 16, 7) E(0xd0), "")                                       \
	X(rules_of_unknown_registers, GOES_ON, E(0x05, 100, 1) E(0x06, 100) E(0x10, 100, 1, 0x30) E(0xff), "")         \
	X(state_remembered, GOES_ON, E(0x0a) E(0x0e, 80) E(0x0b), "")                                                  \
	X(state_never_remembered, ENDS, E(0x0b), "")                                                                   \
	X(states_too_many, ENDS, E(0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a), "")                          \
	X(size_of_arguments, GOES_ON, E(0x2e, 8) E(0x00), "")                                                          \
	X(far_by_1_byte, GOES_ON, E(0x0e, 80) NOPS(100) E(0x0e, 8), "")                                                \
	X(far_by_2_bytes, GOES_ON, E(0x0e, 80) NOPS(1000) E(0x0e, 8), "")                                              \
	X(far_by_4_bytes, GOES_ON, E(0x0e, 80) NOPS(70000) E(0x0e, 8), "")                                             \
	X(tables_behind_the_instruction, GOES_ON, "", "nop\n" E(0x0e, 80) "nop\n")                                     \
	X(frame_of_a_signal, INTERRUPTED, ".cfi_signal_frame\n", "")                                                   \
	X(personality_and_its_data, GOES_ON, ".cfi_personality 0x9b, personality\n.cfi_lsda 0x1b, after_call\n", "")

/* The function has another value in rbp, which the caller's tables want back. */
#define ENTER "push %rbp\n.cfi_adjust_cfa_offset 8\n"
#define LEAVE "pop %rbp\n.cfi_adjust_cfa_offset -8\n"
#define FRAMED(X)                                                                                                      \
	X(rbp_at_an_offset, GOES_ON, ENTER ".cfi_offset %rbp, -16\nxor %ebp, %ebp\n", LEAVE)                           \
	X(rbp_in_a_register, GOES_ON, ENTER "mov %rbp, %rcx\n.cfi_register %rbp, %rcx\nxor %ebp, %ebp\n", LEAVE)       \
	X(rbp_of_the_frame, GOES_ON, ENTER E(0x14, 6, 0) "xor %ebp, %ebp\n", LEAVE)                                    \
	X(rbp_of_the_frame_signed, GOES_ON, ENTER E(0x15, 6, 0) "xor %ebp, %ebp\n", LEAVE)                             \
	X(rbp_of_an_expression, GOES_ON, ENTER E(0x16, 6, 0) "xor %ebp, %ebp\n", LEAVE)                                \
	X(rbp_at_an_expression, GOES_ON, ENTER E(0x10, 6, 2, 0x40, 0x1c) "xor %ebp, %ebp\n", LEAVE)                    \
	X(rbp_as_it_is, GOES_ON, ENTER ".cfi_offset %rbp, -24\n" E(0x08, 6), LEAVE)                                    \
	X(rbp_lost, CALLER, ENTER E(0x07, 6), LEAVE)

#define FRAMES(X) PLAIN(X) FRAMED(X)

/* Not called: an address for the tables. */
__asm__("personality:\n");
