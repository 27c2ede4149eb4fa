# SPDX-License-Identifier: MIT
# What rustc 1.63 makes of speak.rs:
#     rustc -g --crate-type cdylib --crate-name speak -C panic=abort -C overflow-checks=off -C codegen-units=1 \
#         --remap-path-prefix=$PWD=. --emit asm -o speak_rs.s speak.rs
# without the section .debug_gdb_scripts.
	.text
	.file	"speak.e61c133c-cgu.0"
	.file	1 "./speak.rs"
	.section	.text.rust_begin_unwind,"ax",@progbits
	.hidden	rust_begin_unwind
	.globl	rust_begin_unwind
	.p2align	4, 0x90
	.type	rust_begin_unwind,@function
rust_begin_unwind:
.Lfunc_begin0:
	.loc	1 5 0
	.cfi_sections .debug_frame
	.cfi_startproc
	pushq	%rax
	.cfi_def_cfa_offset 16
	movq	%rdi, (%rsp)
.LBB0_1:
.Ltmp0:
	.loc	1 6 5 prologue_end
	jmp	.LBB0_1
.Ltmp1:
.Lfunc_end0:
	.size	rust_begin_unwind, .Lfunc_end0-rust_begin_unwind
	.cfi_endproc

	.section	.text._ZN5speak5speak17h0ea3106e63cee04dE,"ax",@progbits
	.p2align	4, 0x90
	.type	_ZN5speak5speak17h0ea3106e63cee04dE,@function
_ZN5speak5speak17h0ea3106e63cee04dE:
.Lfunc_begin1:
	.loc	1 14 0
	.cfi_startproc
	subq	$16, %rsp
	.cfi_def_cfa_offset 24
	movq	%rdi, (%rsp)
.Ltmp2:
	.loc	1 15 17 prologue_end
	movq	(%rdi), %rax
	.loc	1 15 31 is_stmt 0
	movb	8(%rdi), %cl
	andb	$1, %cl
	movzbl	%cl, %ecx
	.loc	1 15 17
	addq	%rcx, %rax
	movq	%rax, 8(%rsp)
.Ltmp3:
	.loc	1 17 9 is_stmt 1
	movq	_ZN5speak6SPOKEN17h3b5ac5f9799d545aE(%rip), %rcx
	addq	$1, %rcx
	movq	%rcx, _ZN5speak6SPOKEN17h3b5ac5f9799d545aE(%rip)
	.loc	1 18 9
	addq	_ZN5speak6SPOKEN17h3b5ac5f9799d545aE(%rip), %rax
.Ltmp4:
	.loc	1 20 2
	addq	$16, %rsp
	.cfi_def_cfa_offset 8
	retq
.Ltmp5:
.Lfunc_end1:
	.size	_ZN5speak5speak17h0ea3106e63cee04dE, .Lfunc_end1-_ZN5speak5speak17h0ea3106e63cee04dE
	.cfi_endproc

	.section	.text.speak_rust,"ax",@progbits
	.globl	speak_rust
	.p2align	4, 0x90
	.type	speak_rust,@function
speak_rust:
.Lfunc_begin2:
	.loc	1 22 0
	.cfi_startproc
	subq	$40, %rsp
	.cfi_def_cfa_offset 48
	movq	%rdi, 32(%rsp)
.Ltmp6:
	.loc	1 23 33 prologue_end
	cmpq	$2, %rdi
	setg	%al
	.loc	1 23 12 is_stmt 0
	movq	%rdi, 16(%rsp)
	andb	$1, %al
	movb	%al, 24(%rsp)
	.loc	1 23 5
	leaq	16(%rsp), %rdi
	callq	_ZN5speak5speak17h0ea3106e63cee04dE
	movq	%rax, 8(%rsp)
	.loc	1 0 5
	movq	8(%rsp), %rax
	.loc	1 24 2 is_stmt 1
	addq	$40, %rsp
	.cfi_def_cfa_offset 8
	retq
.Ltmp7:
.Lfunc_end2:
	.size	speak_rust, .Lfunc_end2-speak_rust
	.cfi_endproc

	.type	_ZN5speak6SPOKEN17h3b5ac5f9799d545aE,@object
	.section	.bss._ZN5speak6SPOKEN17h3b5ac5f9799d545aE,"aw",@nobits
	.p2align	3
_ZN5speak6SPOKEN17h3b5ac5f9799d545aE:
	.zero	8
	.size	_ZN5speak6SPOKEN17h3b5ac5f9799d545aE, 8


	.section	.debug_abbrev,"",@progbits
	.byte	1
	.byte	17
	.byte	1
	.byte	37
	.byte	14
	.byte	19
	.byte	5
	.byte	3
	.byte	14
	.byte	16
	.byte	23
	.byte	27
	.byte	14
	.ascii	"\264B"
	.byte	25
	.byte	17
	.byte	1
	.byte	85
	.byte	23
	.byte	0
	.byte	0
	.byte	2
	.byte	57
	.byte	1
	.byte	3
	.byte	14
	.byte	0
	.byte	0
	.byte	3
	.byte	52
	.byte	0
	.byte	3
	.byte	14
	.byte	73
	.byte	19
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.ascii	"\210\001"
	.byte	15
	.byte	2
	.byte	24
	.byte	110
	.byte	14
	.byte	0
	.byte	0
	.byte	4
	.byte	46
	.byte	1
	.byte	17
	.byte	1
	.byte	18
	.byte	6
	.byte	64
	.byte	24
	.byte	110
	.byte	14
	.byte	3
	.byte	14
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.ascii	"\207\001"
	.byte	25
	.byte	0
	.byte	0
	.byte	5
	.byte	5
	.byte	0
	.byte	2
	.byte	24
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	6
	.byte	46
	.byte	1
	.byte	17
	.byte	1
	.byte	18
	.byte	6
	.byte	64
	.byte	24
	.byte	110
	.byte	14
	.byte	3
	.byte	14
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	7
	.byte	5
	.byte	0
	.byte	2
	.byte	24
	.byte	3
	.byte	14
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	8
	.byte	11
	.byte	1
	.byte	17
	.byte	1
	.byte	18
	.byte	6
	.byte	0
	.byte	0
	.byte	9
	.byte	52
	.byte	0
	.byte	2
	.byte	24
	.byte	3
	.byte	14
	.ascii	"\210\001"
	.byte	15
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	10
	.byte	46
	.byte	1
	.byte	17
	.byte	1
	.byte	18
	.byte	6
	.byte	64
	.byte	24
	.byte	3
	.byte	14
	.byte	58
	.byte	11
	.byte	59
	.byte	11
	.byte	73
	.byte	19
	.byte	63
	.byte	25
	.byte	0
	.byte	0
	.byte	11
	.byte	19
	.byte	1
	.byte	3
	.byte	14
	.byte	11
	.byte	11
	.ascii	"\210\001"
	.byte	15
	.byte	0
	.byte	0
	.byte	12
	.byte	13
	.byte	0
	.byte	3
	.byte	14
	.byte	73
	.byte	19
	.ascii	"\210\001"
	.byte	15
	.byte	56
	.byte	11
	.byte	0
	.byte	0
	.byte	13
	.byte	36
	.byte	0
	.byte	3
	.byte	14
	.byte	62
	.byte	11
	.byte	11
	.byte	11
	.byte	0
	.byte	0
	.byte	14
	.byte	4
	.byte	1
	.byte	73
	.byte	19
	.byte	109
	.byte	25
	.byte	3
	.byte	14
	.byte	11
	.byte	11
	.ascii	"\210\001"
	.byte	15
	.byte	0
	.byte	0
	.byte	15
	.byte	40
	.byte	0
	.byte	3
	.byte	14
	.byte	28
	.byte	15
	.byte	0
	.byte	0
	.byte	16
	.byte	51
	.byte	1
	.byte	21
	.byte	19
	.byte	0
	.byte	0
	.byte	17
	.byte	13
	.byte	0
	.byte	73
	.byte	19
	.ascii	"\210\001"
	.byte	15
	.byte	56
	.byte	11
	.byte	52
	.byte	25
	.byte	0
	.byte	0
	.byte	18
	.byte	25
	.byte	1
	.byte	22
	.byte	11
	.byte	0
	.byte	0
	.byte	19
	.byte	19
	.byte	0
	.byte	3
	.byte	14
	.byte	11
	.byte	11
	.ascii	"\210\001"
	.byte	15
	.byte	0
	.byte	0
	.byte	20
	.byte	25
	.byte	1
	.byte	0
	.byte	0
	.byte	21
	.byte	47
	.byte	0
	.byte	73
	.byte	19
	.byte	3
	.byte	14
	.byte	0
	.byte	0
	.byte	22
	.byte	15
	.byte	0
	.byte	73
	.byte	19
	.byte	3
	.byte	14
	.byte	51
	.byte	6
	.byte	0
	.byte	0
	.byte	23
	.byte	15
	.byte	0
	.byte	73
	.byte	19
	.byte	51
	.byte	6
	.byte	0
	.byte	0
	.byte	24
	.byte	1
	.byte	1
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	25
	.byte	33
	.byte	0
	.byte	73
	.byte	19
	.byte	34
	.byte	13
	.byte	55
	.byte	11
	.byte	0
	.byte	0
	.byte	26
	.byte	36
	.byte	0
	.byte	3
	.byte	14
	.byte	11
	.byte	11
	.byte	62
	.byte	11
	.byte	0
	.byte	0
	.byte	27
	.byte	21
	.byte	1
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	28
	.byte	5
	.byte	0
	.byte	73
	.byte	19
	.byte	0
	.byte	0
	.byte	0
	.section	.debug_info,"",@progbits
.Lcu_begin0:
	.long	.Ldebug_info_end0-.Ldebug_info_start0
.Ldebug_info_start0:
	.short	4
	.long	.debug_abbrev
	.byte	8
	.byte	1
	.long	.Linfo_string0
	.short	28
	.long	.Linfo_string1
	.long	.Lline_table_start0
	.long	.Linfo_string2

	.quad	0
	.long	.Ldebug_ranges0
	.byte	2
	.long	.Linfo_string3
	.byte	3
	.long	.Linfo_string4
	.long	253
	.byte	1
	.byte	8
	.byte	8
	.byte	9
	.byte	3
	.quad	_ZN5speak6SPOKEN17h3b5ac5f9799d545aE
	.long	.Linfo_string6
	.byte	4
	.quad	.Lfunc_begin0
	.long	.Lfunc_end0-.Lfunc_begin0
	.byte	1
	.byte	87
	.long	.Linfo_string17
	.long	.Linfo_string18
	.byte	1
	.byte	5

	.byte	5
	.byte	2
	.byte	145
	.byte	0
	.byte	1
	.byte	5
	.long	1219
	.byte	0
	.byte	6
	.quad	.Lfunc_begin1
	.long	.Lfunc_end1-.Lfunc_begin1
	.byte	1
	.byte	87
	.long	.Linfo_string19
	.long	.Linfo_string3
	.byte	1
	.byte	14
	.long	253
	.byte	7
	.byte	2
	.byte	145
	.byte	0
	.long	.Linfo_string94
	.byte	1
	.byte	14
	.long	1636
	.byte	8
	.quad	.Ltmp3
	.long	.Ltmp4-.Ltmp3
	.byte	9
	.byte	2
	.byte	145
	.byte	8
	.long	.Linfo_string98
	.byte	1
	.byte	1
	.byte	15
	.long	253
	.byte	0
	.byte	0
	.byte	10
	.quad	.Lfunc_begin2
	.long	.Lfunc_end2-.Lfunc_begin2
	.byte	1
	.byte	87
	.long	.Linfo_string20
	.byte	1
	.byte	22
	.long	253

	.byte	7
	.byte	2
	.byte	145
	.byte	32
	.long	.Linfo_string36
	.byte	1
	.byte	22
	.long	253
	.byte	0
	.byte	11
	.long	.Linfo_string96
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string36
	.long	253
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string95
	.long	1629
	.byte	1
	.byte	8
	.byte	0
	.byte	0
	.byte	13
	.long	.Linfo_string5
	.byte	5
	.byte	8
	.byte	2
	.long	.Linfo_string7
	.byte	2
	.long	.Linfo_string8
	.byte	2
	.long	.Linfo_string9
	.byte	2
	.long	.Linfo_string10
	.byte	14
	.long	1212

	.long	.Linfo_string16
	.byte	1
	.byte	1
	.byte	15
	.long	.Linfo_string12
	.byte	0
	.byte	15
	.long	.Linfo_string13
	.byte	1
	.byte	15
	.long	.Linfo_string14
	.byte	2
	.byte	15
	.long	.Linfo_string15
	.byte	3
	.byte	0
	.byte	11
	.long	.Linfo_string54
	.byte	56
	.byte	8
	.byte	12
	.long	.Linfo_string39
	.long	1304
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string40
	.long	346
	.byte	8
	.byte	8
	.byte	0
	.byte	11
	.long	.Linfo_string53
	.byte	48
	.byte	8
	.byte	12
	.long	.Linfo_string41
	.long	1455
	.byte	4
	.byte	32
	.byte	12
	.long	.Linfo_string43
	.long	280
	.byte	1
	.byte	40
	.byte	12
	.long	.Linfo_string44
	.long	1462
	.byte	4
	.byte	36
	.byte	12
	.long	.Linfo_string46
	.long	409
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string52
	.long	409
	.byte	8
	.byte	16
	.byte	0
	.byte	11
	.long	.Linfo_string51
	.byte	16
	.byte	8
	.byte	16
	.long	421
	.byte	17
	.long	1318
	.byte	8
	.byte	0

	.byte	18
	.byte	0
	.byte	12
	.long	.Linfo_string47
	.long	471
	.byte	8
	.byte	0
	.byte	0
	.byte	18
	.byte	1
	.byte	12
	.long	.Linfo_string49
	.long	490
	.byte	8
	.byte	0
	.byte	0
	.byte	18
	.byte	2
	.byte	12
	.long	.Linfo_string50
	.long	509
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string47
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string48
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	11
	.long	.Linfo_string49
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string48
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	19
	.long	.Linfo_string50
	.byte	16
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string81
	.byte	48
	.byte	8
	.byte	12
	.long	.Linfo_string34
	.long	1338
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string8
	.long	894
	.byte	8
	.byte	16
	.byte	12
	.long	.Linfo_string59
	.long	1469
	.byte	8
	.byte	32
	.byte	0
	.byte	11
	.long	.Linfo_string79
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string60
	.long	1508
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string64
	.long	1521
	.byte	8
	.byte	8
	.byte	0
	.byte	2
	.long	.Linfo_string61
	.byte	19
	.long	.Linfo_string62
	.byte	0
	.byte	1
	.byte	0
	.byte	19
	.long	.Linfo_string68
	.byte	0
	.byte	1
	.byte	11
	.long	.Linfo_string76
	.byte	64
	.byte	8
	.byte	12
	.long	.Linfo_string44
	.long	1462
	.byte	4
	.byte	48
	.byte	12
	.long	.Linfo_string41
	.long	1455
	.byte	4
	.byte	52
	.byte	12
	.long	.Linfo_string43
	.long	280
	.byte	1
	.byte	56
	.byte	12
	.long	.Linfo_string52
	.long	987
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string46
	.long	987
	.byte	8
	.byte	16
	.byte	12
	.long	.Linfo_string73
	.long	1570
	.byte	8
	.byte	32
	.byte	0
	.byte	0
	.byte	2
	.long	.Linfo_string18
	.byte	2
	.long	.Linfo_string21
	.byte	11
	.long	.Linfo_string92
	.byte	40
	.byte	8
	.byte	12
	.long	.Linfo_string22
	.long	1232
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string30
	.long	801
	.byte	8
	.byte	16
	.byte	12
	.long	.Linfo_string84
	.long	1616
	.byte	8
	.byte	24
	.byte	12
	.long	.Linfo_string90
	.long	1629
	.byte	1
	.byte	32
	.byte	0
	.byte	0
	.byte	2
	.long	.Linfo_string84
	.byte	11
	.long	.Linfo_string88
	.byte	24
	.byte	8
	.byte	12
	.long	.Linfo_string85
	.long	1377
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string86
	.long	1462
	.byte	4
	.byte	16
	.byte	12
	.long	.Linfo_string87
	.long	1462
	.byte	4
	.byte	20
	.byte	0
	.byte	0
	.byte	0
	.byte	2
	.long	.Linfo_string31
	.byte	11
	.long	.Linfo_string83
	.byte	8
	.byte	8
	.byte	16
	.long	813
	.byte	17
	.long	1318
	.byte	8
	.byte	0

	.byte	18
	.byte	0
	.byte	12
	.long	.Linfo_string33
	.long	848
	.byte	8
	.byte	0
	.byte	0
	.byte	20
	.byte	12
	.long	.Linfo_string57
	.long	865
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string33
	.byte	8
	.byte	8
	.byte	21
	.long	1325
	.long	.Linfo_string56
	.byte	0
	.byte	11
	.long	.Linfo_string57
	.byte	8
	.byte	8
	.byte	21
	.long	1325
	.long	.Linfo_string56
	.byte	12
	.long	.Linfo_string48
	.long	1325
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string58
	.byte	16
	.byte	8
	.byte	16
	.long	906
	.byte	17
	.long	1318
	.byte	8
	.byte	0

	.byte	18
	.byte	0
	.byte	12
	.long	.Linfo_string33
	.long	941
	.byte	8
	.byte	0
	.byte	0
	.byte	20
	.byte	12
	.long	.Linfo_string57
	.long	958
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string33
	.byte	16
	.byte	8
	.byte	21
	.long	1416
	.long	.Linfo_string56
	.byte	0
	.byte	11
	.long	.Linfo_string57
	.byte	16
	.byte	8
	.byte	21
	.long	1416
	.long	.Linfo_string56
	.byte	12
	.long	.Linfo_string48
	.long	1416
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string72
	.byte	16
	.byte	8
	.byte	16
	.long	999
	.byte	17
	.long	1318
	.byte	8
	.byte	0

	.byte	18
	.byte	0
	.byte	12
	.long	.Linfo_string33
	.long	1035
	.byte	8
	.byte	0
	.byte	0
	.byte	18
	.byte	1
	.byte	12
	.long	.Linfo_string57
	.long	1052
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string33
	.byte	16
	.byte	8
	.byte	21
	.long	1304
	.long	.Linfo_string56
	.byte	0
	.byte	11
	.long	.Linfo_string57
	.byte	16
	.byte	8
	.byte	21
	.long	1304
	.long	.Linfo_string56
	.byte	12
	.long	.Linfo_string48
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	0
	.byte	0
	.byte	2
	.long	.Linfo_string65
	.byte	11
	.long	.Linfo_string71
	.byte	1
	.byte	1
	.byte	16
	.long	1099
	.byte	17
	.long	1212
	.byte	1
	.byte	0

	.byte	18
	.byte	0
	.byte	12
	.long	.Linfo_string66
	.long	1135
	.byte	1
	.byte	0
	.byte	0
	.byte	18
	.byte	1
	.byte	12
	.long	.Linfo_string70
	.long	1172
	.byte	1
	.byte	0
	.byte	0
	.byte	0
	.byte	11
	.long	.Linfo_string66
	.byte	1
	.byte	1
	.byte	21
	.long	1550
	.long	.Linfo_string56
	.byte	21
	.long	603
	.long	.Linfo_string69
	.byte	12
	.long	.Linfo_string48
	.long	1550
	.byte	1
	.byte	1
	.byte	0
	.byte	11
	.long	.Linfo_string70
	.byte	1
	.byte	1
	.byte	21
	.long	1550
	.long	.Linfo_string56
	.byte	21
	.long	603
	.long	.Linfo_string69
	.byte	12
	.long	.Linfo_string48
	.long	603
	.byte	1
	.byte	1
	.byte	0
	.byte	0
	.byte	0
	.byte	0
	.byte	13
	.long	.Linfo_string11
	.byte	7
	.byte	1
	.byte	22
	.long	695
	.long	.Linfo_string93
	.long	0
	.byte	11
	.long	.Linfo_string29
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string23
	.long	1262
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string25
	.long	1278
	.byte	8
	.byte	8
	.byte	0
	.byte	23
	.long	1271
	.long	0
	.byte	19
	.long	.Linfo_string24
	.byte	0
	.byte	1
	.byte	22
	.long	1291
	.long	.Linfo_string28
	.long	0
	.byte	24
	.long	1304
	.byte	25
	.long	1311
	.byte	0
	.byte	3
	.byte	0
	.byte	13
	.long	.Linfo_string26
	.byte	7
	.byte	8
	.byte	26
	.long	.Linfo_string27
	.byte	8
	.byte	7
	.byte	13
	.long	.Linfo_string32
	.byte	7
	.byte	8
	.byte	22
	.long	519
	.long	.Linfo_string82
	.long	0
	.byte	11
	.long	.Linfo_string38
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string35
	.long	1368
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string36
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	23
	.long	1377
	.long	0
	.byte	11
	.long	.Linfo_string37
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string35
	.long	1407
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string36
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	23
	.long	1212
	.long	0
	.byte	11
	.long	.Linfo_string55
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string35
	.long	1446
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string36
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	23
	.long	316
	.long	0
	.byte	13
	.long	.Linfo_string42
	.byte	16
	.byte	4
	.byte	13
	.long	.Linfo_string45
	.byte	7
	.byte	4
	.byte	11
	.long	.Linfo_string80
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string35
	.long	1499
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string36
	.long	1304
	.byte	8
	.byte	8
	.byte	0
	.byte	23
	.long	560
	.long	0
	.byte	22
	.long	595
	.long	.Linfo_string63
	.long	0
	.byte	22
	.long	1534
	.long	.Linfo_string78
	.long	0
	.byte	27
	.long	1087
	.byte	28
	.long	1508
	.byte	28
	.long	1557
	.byte	0
	.byte	13
	.long	.Linfo_string67
	.byte	7
	.byte	0
	.byte	22
	.long	610
	.long	.Linfo_string77
	.long	0
	.byte	11
	.long	.Linfo_string75
	.byte	16
	.byte	8
	.byte	12
	.long	.Linfo_string23
	.long	1600
	.byte	8
	.byte	0
	.byte	12
	.long	.Linfo_string25
	.long	1278
	.byte	8
	.byte	8
	.byte	0
	.byte	23
	.long	1609
	.long	0
	.byte	19
	.long	.Linfo_string74
	.byte	0
	.byte	1
	.byte	22
	.long	753
	.long	.Linfo_string89
	.long	0
	.byte	13
	.long	.Linfo_string91
	.byte	2
	.byte	1
	.byte	22
	.long	222
	.long	.Linfo_string97
	.long	0
	.byte	0
.Ldebug_info_end0:
	.section	.bss._ZN5speak6SPOKEN17h3b5ac5f9799d545aE,"aw",@nobits
.Lsec_end0:
	.section	.text.rust_begin_unwind,"ax",@progbits
.Lsec_end1:
	.section	.text._ZN5speak5speak17h0ea3106e63cee04dE,"ax",@progbits
.Lsec_end2:
	.section	.text.speak_rust,"ax",@progbits
.Lsec_end3:
	.section	.debug_aranges,"",@progbits
	.long	92
	.short	2
	.long	.Lcu_begin0
	.byte	8
	.byte	0
	.zero	4,255
	.quad	_ZN5speak6SPOKEN17h3b5ac5f9799d545aE
	.quad	.Lsec_end0-_ZN5speak6SPOKEN17h3b5ac5f9799d545aE
	.quad	.Lfunc_begin0
	.quad	.Lsec_end1-.Lfunc_begin0
	.quad	.Lfunc_begin1
	.quad	.Lsec_end2-.Lfunc_begin1
	.quad	.Lfunc_begin2
	.quad	.Lsec_end3-.Lfunc_begin2
	.quad	0
	.quad	0
	.section	.debug_ranges,"",@progbits
.Ldebug_ranges0:
	.quad	.Lfunc_begin0
	.quad	.Lfunc_end0
	.quad	.Lfunc_begin1
	.quad	.Lfunc_end1
	.quad	.Lfunc_begin2
	.quad	.Lfunc_end2
	.quad	0
	.quad	0
	.section	.debug_str,"MS",@progbits,1
.Linfo_string0:
	.asciz	"clang LLVM (rustc version 1.63.0)"
.Linfo_string1:
	.asciz	"speak.rs/@/speak.e61c133c-cgu.0"
.Linfo_string2:
	.asciz	"."
.Linfo_string3:
	.asciz	"speak"
.Linfo_string4:
	.asciz	"SPOKEN"
.Linfo_string5:
	.asciz	"i64"
.Linfo_string6:
	.asciz	"_ZN5speak6SPOKEN17h3b5ac5f9799d545aE"
.Linfo_string7:
	.asciz	"core"
.Linfo_string8:
	.asciz	"fmt"
.Linfo_string9:
	.asciz	"rt"
.Linfo_string10:
	.asciz	"v1"
.Linfo_string11:
	.asciz	"u8"
.Linfo_string12:
	.asciz	"Left"
.Linfo_string13:
	.asciz	"Right"
.Linfo_string14:
	.asciz	"Center"
.Linfo_string15:
	.asciz	"Unknown"
.Linfo_string16:
	.asciz	"Alignment"
.Linfo_string17:
	.asciz	"rust_begin_unwind"
.Linfo_string18:
	.asciz	"panic"
.Linfo_string19:
	.asciz	"_ZN5speak5speak17h0ea3106e63cee04dE"
.Linfo_string20:
	.asciz	"speak_rust"
.Linfo_string21:
	.asciz	"panic_info"
.Linfo_string22:
	.asciz	"payload"
.Linfo_string23:
	.asciz	"pointer"
.Linfo_string24:
	.asciz	"(dyn core::any::Any + core::marker::Send)"
.Linfo_string25:
	.asciz	"vtable"
.Linfo_string26:
	.asciz	"usize"
.Linfo_string27:
	.asciz	"__ARRAY_SIZE_TYPE__"
.Linfo_string28:
	.asciz	"&[usize; 3]"
.Linfo_string29:
	.asciz	"&(dyn core::any::Any + core::marker::Send)"
.Linfo_string30:
	.asciz	"message"
.Linfo_string31:
	.asciz	"option"
.Linfo_string32:
	.asciz	"u64"
.Linfo_string33:
	.asciz	"None"
.Linfo_string34:
	.asciz	"pieces"
.Linfo_string35:
	.asciz	"data_ptr"
.Linfo_string36:
	.asciz	"length"
.Linfo_string37:
	.asciz	"&str"
.Linfo_string38:
	.asciz	"&[&str]"
.Linfo_string39:
	.asciz	"position"
.Linfo_string40:
	.asciz	"format"
.Linfo_string41:
	.asciz	"fill"
.Linfo_string42:
	.asciz	"char"
.Linfo_string43:
	.asciz	"align"
.Linfo_string44:
	.asciz	"flags"
.Linfo_string45:
	.asciz	"u32"
.Linfo_string46:
	.asciz	"precision"
.Linfo_string47:
	.asciz	"Is"
.Linfo_string48:
	.asciz	"__0"
.Linfo_string49:
	.asciz	"Param"
.Linfo_string50:
	.asciz	"Implied"
.Linfo_string51:
	.asciz	"Count"
.Linfo_string52:
	.asciz	"width"
.Linfo_string53:
	.asciz	"FormatSpec"
.Linfo_string54:
	.asciz	"Argument"
.Linfo_string55:
	.asciz	"&[core::fmt::rt::v1::Argument]"
.Linfo_string56:
	.asciz	"T"
.Linfo_string57:
	.asciz	"Some"
.Linfo_string58:
	.asciz	"Option<&[core::fmt::rt::v1::Argument]>"
.Linfo_string59:
	.asciz	"args"
.Linfo_string60:
	.asciz	"value"
.Linfo_string61:
	.asciz	"{extern#0}"
.Linfo_string62:
	.asciz	"Opaque"
.Linfo_string63:
	.asciz	"&core::fmt::{extern#0}::Opaque"
.Linfo_string64:
	.asciz	"formatter"
.Linfo_string65:
	.asciz	"result"
.Linfo_string66:
	.asciz	"Ok"
.Linfo_string67:
	.asciz	"()"
.Linfo_string68:
	.asciz	"Error"
.Linfo_string69:
	.asciz	"E"
.Linfo_string70:
	.asciz	"Err"
.Linfo_string71:
	.asciz	"Result<(), core::fmt::Error>"
.Linfo_string72:
	.asciz	"Option<usize>"
.Linfo_string73:
	.asciz	"buf"
.Linfo_string74:
	.asciz	"dyn core::fmt::Write"
.Linfo_string75:
	.asciz	"&mut dyn core::fmt::Write"
.Linfo_string76:
	.asciz	"Formatter"
.Linfo_string77:
	.asciz	"&mut core::fmt::Formatter"
.Linfo_string78:
	.asciz	"fn(&core::fmt::{extern#0}::Opaque, &mut core::fmt::Formatter) -> core::result::Result<(), core::fmt::Error>"
.Linfo_string79:
	.asciz	"ArgumentV1"
.Linfo_string80:
	.asciz	"&[core::fmt::ArgumentV1]"
.Linfo_string81:
	.asciz	"Arguments"
.Linfo_string82:
	.asciz	"&core::fmt::Arguments"
.Linfo_string83:
	.asciz	"Option<&core::fmt::Arguments>"
.Linfo_string84:
	.asciz	"location"
.Linfo_string85:
	.asciz	"file"
.Linfo_string86:
	.asciz	"line"
.Linfo_string87:
	.asciz	"col"
.Linfo_string88:
	.asciz	"Location"
.Linfo_string89:
	.asciz	"&core::panic::location::Location"
.Linfo_string90:
	.asciz	"can_unwind"
.Linfo_string91:
	.asciz	"bool"
.Linfo_string92:
	.asciz	"PanicInfo"
.Linfo_string93:
	.asciz	"&core::panic::panic_info::PanicInfo"
.Linfo_string94:
	.asciz	"word"
.Linfo_string95:
	.asciz	"loud"
.Linfo_string96:
	.asciz	"Word"
.Linfo_string97:
	.asciz	"&speak::Word"
.Linfo_string98:
	.asciz	"again"
	.section	.debug_pubnames,"",@progbits
	.long	.LpubNames_end0-.LpubNames_start0
.LpubNames_start0:
	.short	2
	.long	.Lcu_begin0
	.long	1650
	.long	303
	.asciz	"Center"
	.long	182
	.asciz	"speak_rust"
	.long	590
	.asciz	"{extern#0}"
	.long	270
	.asciz	"rt"
	.long	265
	.asciz	"fmt"
	.long	275
	.asciz	"v1"
	.long	260
	.asciz	"core"
	.long	291
	.asciz	"Left"
	.long	685
	.asciz	"panic"
	.long	47
	.asciz	"SPOKEN"
	.long	309
	.asciz	"Unknown"
	.long	109
	.asciz	"speak"
	.long	690
	.asciz	"panic_info"
	.long	796
	.asciz	"option"
	.long	748
	.asciz	"location"
	.long	297
	.asciz	"Right"
	.long	1082
	.asciz	"result"
	.long	0
.LpubNames_end0:
	.section	.debug_pubtypes,"",@progbits
	.long	.LpubTypes_end0-.LpubTypes_start0
.LpubTypes_start0:
	.short	2
	.long	.Lcu_begin0
	.long	1650
	.long	1469
	.asciz	"&[core::fmt::ArgumentV1]"
	.long	1271
	.asciz	"(dyn core::any::Any + core::marker::Send)"
	.long	1557
	.asciz	"&mut core::fmt::Formatter"
	.long	1616
	.asciz	"&core::panic::location::Location"
	.long	1521
	.asciz	"fn(&core::fmt::{extern#0}::Opaque, &mut core::fmt::Formatter) -> core::result::Result<(), core::fmt::Error>"
	.long	595
	.asciz	"Opaque"
	.long	1629
	.asciz	"bool"
	.long	1212
	.asciz	"u8"
	.long	1304
	.asciz	"usize"
	.long	1550
	.asciz	"()"
	.long	253
	.asciz	"i64"
	.long	1325
	.asciz	"&core::fmt::Arguments"
	.long	346
	.asciz	"FormatSpec"
	.long	695
	.asciz	"PanicInfo"
	.long	1636
	.asciz	"&speak::Word"
	.long	610
	.asciz	"Formatter"
	.long	1278
	.asciz	"&[usize; 3]"
	.long	1338
	.asciz	"&[&str]"
	.long	1455
	.asciz	"char"
	.long	280
	.asciz	"Alignment"
	.long	1318
	.asciz	"u64"
	.long	894
	.asciz	"Option<&[core::fmt::rt::v1::Argument]>"
	.long	1219
	.asciz	"&core::panic::panic_info::PanicInfo"
	.long	316
	.asciz	"Argument"
	.long	987
	.asciz	"Option<usize>"
	.long	801
	.asciz	"Option<&core::fmt::Arguments>"
	.long	409
	.asciz	"Count"
	.long	560
	.asciz	"ArgumentV1"
	.long	1232
	.asciz	"&(dyn core::any::Any + core::marker::Send)"
	.long	603
	.asciz	"Error"
	.long	1416
	.asciz	"&[core::fmt::rt::v1::Argument]"
	.long	1609
	.asciz	"dyn core::fmt::Write"
	.long	1570
	.asciz	"&mut dyn core::fmt::Write"
	.long	519
	.asciz	"Arguments"
	.long	1087
	.asciz	"Result<(), core::fmt::Error>"
	.long	753
	.asciz	"Location"
	.long	1462
	.asciz	"u32"
	.long	222
	.asciz	"Word"
	.long	1508
	.asciz	"&core::fmt::{extern#0}::Opaque"
	.long	1377
	.asciz	"&str"
	.long	0
.LpubTypes_end0:
	.section	".note.GNU-stack","",@progbits
	.section	.debug_line,"",@progbits
.Lline_table_start0:
