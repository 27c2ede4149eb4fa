# SPDX-License-Identifier: MIT
# Options for modules that only this machine's compiler has, and modules that are about this machine.

MOD_TLS_CALLS := -mtls-dialect=trad
MOD_TLS_DESCRIPTORS := -mtls-dialect=desc
MOD_PLATFORMS := aarch64
MOD_LEVEL := aarch64
MOD_ONLY := libbti
$(MOD)/libbti.so: tests/machine/aarch64/bti.S loader/machine/aarch64/base/note.h
	$(MOD_CC) $< -Iloader/machine/aarch64 -nostartfiles -Wl,-z,force-bti
MOD_RELOC := $(MOD_TLS_CALLS)
