/* SPDX-License-Identifier: MIT */
/* A file as dwz leaves it: a name, a unit and a type are in jitreg_dwz_alt.s. With MERGED */
/* it is as it would be if both were one. */

	.macro	to_strp
	.ifdef	MERGED
	.byte	0x8e, 0 /* strp, in two bytes */
	.else
	.uleb128 0x1f21 /* GNU_strp_alt */
	.endif
	.endm
	.macro	to_ref
	.ifdef	MERGED
	.byte	0x90, 0 /* ref_addr */
	.else
	.uleb128 0x1f20 /* GNU_ref_alt */
	.endif
	.endm
	.text
pick:	.cfi_startproc
	ret
	.cfi_endproc
	.data
datum:	.long	42
	.section .debug_abbrev,"",%progbits
.Labbrev:
	.uleb128 1, 0x11 /* DW_TAG_compile_unit */
	.byte	1
	.uleb128 0x03 /* name */
	to_strp
	.uleb128 0x25, 0x0e /* producer, strp */
	.uleb128 0x13, 0x21, 12 /* language, implicit_const */
	.uleb128 0x11, 1 /* low_pc, addr */
	.uleb128 0x12, 7 /* high_pc, data8 */
	.uleb128 0, 0
	.uleb128 2, 0x3d /* DW_TAG_imported_unit */
	.byte	0
	.uleb128 0x18 /* import */
	to_ref
	.uleb128 0, 0
	.uleb128 3, 0x34 /* DW_TAG_variable */
	.byte	0
	.uleb128 0x03, 0x08 /* name, string */
	.uleb128 0x49 /* type */
	to_ref
	.uleb128 0x02, 0x18 /* location, exprloc */
	.uleb128 0, 0
	.byte	0
	.section .debug_info,"",%progbits
	.long	.Linfo_end - .Linfo
.Linfo:	.short	5
	.byte	1, 8
	.long	.Labbrev
	.uleb128 1
	.long	alt_name, .Lproducer
	.quad	pick, 1
	.uleb128 2
	.long	alt_unit
	.uleb128 3
	.string	"datum"
	.long	alt_type
	.uleb128 9
	.byte	3
	.quad	datum
	.byte	0
.Linfo_end:
	.section .debug_str,"",%progbits
.Lproducer: .string "by hand"
