# SPDX-License-Identifier: MIT
# Options for modules that only this machine's compiler has, and modules that are about this machine.

MOD_TLS_CALLS := -mtls-dialect=trad
MOD_TLS_DESCRIPTORS := -mtls-dialect=desc
MOD_PLATFORMS := aarch64
MOD_LEVEL := aarch64
MOD_ONLY :=
MOD_RELOC := $(MOD_TLS_CALLS)
