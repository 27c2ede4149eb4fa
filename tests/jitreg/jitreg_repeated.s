/* SPDX-License-Identifier: MIT */
/* Debug information that compresses very well. */

	.text
named:	ret
	.section .debug_abbrev,"",%progbits
.Labbrev:
	.uleb128 1, 0x11 /* DW_TAG_compile_unit */
	.byte	1
	.uleb128 0x11, 1 /* low_pc, addr */
	.uleb128 0x12, 7 /* high_pc, data8 */
	.uleb128 0, 0
	.uleb128 2, 0x3b /* DW_TAG_unspecified_type */
	.byte	0
	.uleb128 0, 0
	.byte	0
	.section .debug_info,"",%progbits
	.long	.Linfo_end - .Linfo
.Linfo:	.short	4
	.long	.Labbrev
	.byte	8
	.uleb128 1
	.quad	named, 1
	.fill	100000, 1, 2
	.byte	0
.Linfo_end:
