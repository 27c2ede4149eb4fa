/* SPDX-License-Identifier: MIT */
/* What LLVM writes: indices instead of addresses, and each kind of list entry. */

	.text
	.globl	indexed
	.type	indexed, %function
indexed:
	nop
	nop
	nop
	ret
.Lend:	.size	indexed, .-indexed
	.data
datum:	.quad	1
	.section .debug_abbrev,"",%progbits
.Labbrev:
	.uleb128 1, 0x11 /* DW_TAG_compile_unit */
	.byte	1
	.uleb128 0x03, 0x08 /* name, string */
	.uleb128 0x11, 0x29 /* low_pc, addrx1 */
	.uleb128 0x55, 0x23 /* ranges, rnglistx */
	.uleb128 0x73, 0x17 /* addr_base, sec_offset */
	.uleb128 0x74, 0x17 /* rnglists_base */
	.uleb128 0x8c, 0x17 /* loclists_base */
	.uleb128 0, 0
	.uleb128 2, 0x34 /* DW_TAG_variable */
	.byte	0
	.uleb128 0x02, 0x22 /* location, loclistx */
	.uleb128 0, 0
	.uleb128 3, 0x34
	.byte	0
	.uleb128 0x02, 0x18 /* location, exprloc */
	.uleb128 0, 0
	.byte	0
	.section .debug_info,"",%progbits
	.long	.Linfo_end - .Linfo
.Linfo:	.short	5
	.byte	1, 8
	.long	.Labbrev
	.uleb128 1
	.string	"indexed.c"
	.byte	0
	.uleb128 0
	.long	.Laddr
	.long	.Lranges
	.long	.Lloc
	.uleb128 2, 1 /* the second list */
	.uleb128 3, 10
	.byte	0xa1, 2 /* DW_OP_addrx */
	.byte	0xa3, 1, 0x50 /* DW_OP_entry_value(DW_OP_reg0) */
	.byte	0x9e, 2, 3, 3 /* DW_OP_implicit_value of two DW_OP_addr codes */
	.byte	0x9f /* DW_OP_stack_value */
	.uleb128 3, 19
	.byte	3 /* DW_OP_addr */
	.quad	datum
	.byte	3
	.quad	16 /* the offset of a thread-local variable */
	.byte	0xe0 /* DW_OP_GNU_push_tls_address */
	.byte	0
.Linfo_end:
	.section .debug_addr,"",%progbits
	.long	.Laddr_end - .Laddr_start
.Laddr_start:
	.short	5
	.byte	8, 0
.Laddr:	.quad	indexed, .Lend, datum, 0
.Laddr_end:
	.section .debug_rnglists,"",%progbits
	.long	.Lrng_end - .Lrng_start
.Lrng_start:
	.short	5
	.byte	8, 0
	.long	1
.Lranges: .long .Lr0 - .Lranges
.Lr0:	.byte	1, 0 /* base_addressx */
	.byte	4, 0, 1 /* offset_pair */
	.byte	2, 0, 1 /* startx_endx */
	.byte	3, 0, 1 /* startx_length */
	.byte	5 /* base_address */
	.quad	indexed
	.byte	6 /* start_end */
	.quad	indexed, .Lend
	.byte	7 /* start_length */
	.quad	indexed
	.uleb128 4
	.byte	7
	.quad	0 /* left out by the linker */
	.uleb128 4
	.byte	0
.Lrng_end:
	.section .debug_loclists,"",%progbits
	.long	.Lloc_end - .Lloc_start
.Lloc_start:
	.short	5
	.byte	8, 0
	.long	2
.Lloc:	.long	.Ll1 - .Lloc, .Ll0 - .Lloc
.Ll1:	.byte	0
	.byte	0x77, 0x77 /* what is between lists is nobody's */
.Ll0:	.byte	1, 0 /* base_addressx */
	.byte	9, 1, 1 /* view pair */
	.byte	4, 0, 1, 1, 0x50 /* offset_pair */
	.byte	2, 0, 1, 1, 0x51 /* startx_endx */
	.byte	3, 0, 1, 1, 0x52 /* startx_length */
	.byte	5, 1, 0x53 /* default_location */
	.byte	6 /* base_address */
	.quad	indexed
	.byte	7 /* start_end */
	.quad	indexed, .Lend
	.byte	9, 3
	.quad	datum
	.byte	8 /* start_length */
	.quad	indexed
	.uleb128 4
	.byte	1, 0x54
	.byte	0
.Lloc_end:
