/* SPDX-License-Identifier: MIT */
/* What dwz makes of what files have in common. */

	.hidden	alt_name, alt_unit, alt_type
	.globl	alt_name, alt_unit, alt_type
	.section .debug_abbrev,"",%progbits
.Labbrev:
	.uleb128 1, 0x3c /* DW_TAG_partial_unit */
	.byte	1
	.uleb128 0x10, 0x17 /* stmt_list, sec_offset */
	.uleb128 0, 0
	.uleb128 2, 0x24 /* DW_TAG_base_type */
	.byte	0
	.uleb128 0x03, 0x0e /* name, strp */
	.uleb128 0x3e, 0x0b /* encoding, data1 */
	.uleb128 0x0b, 0x0b /* byte_size */
	.uleb128 0, 0
	.uleb128 3, 0x16 /* DW_TAG_typedef */
	.byte	0
	.uleb128 0x03, 0x0e
	.uleb128 0x49, 0x10 /* type, ref_addr */
	.uleb128 0, 0
	.byte	0
	.section .debug_info,"",%progbits
	.long	.Linfo_end - .Linfo
.Linfo:	.short	4
	.long	.Labbrev
	.byte	8
alt_unit:
	.uleb128 1
	.long	.Lline
.Lbase:	.uleb128 2
	.long	.Lint
	.byte	5, 4
alt_type:
	.uleb128 3
	.long	.Lnumber
	.long	.Lbase
	.byte	0
.Linfo_end:
	.section .debug_line,"",%progbits
.Lline:	.long	.Lline_end - .Lline - 4
	.short	2
	.long	.Lline_end - .Lline - 10
	.byte	1, 1, 1, 1, 1 /* up to opcode_base */
	.byte	0, 0 /* no directories, no files */
.Lline_end:
	.section .debug_str,"",%progbits
alt_name: .string "supplemented.c"
.Lint:	.string	"int"
.Lnumber: .string "number"
