# SPDX-License-Identifier: MIT
# Options for modules that only this machine's compiler has, and modules that are about this machine.

# Thread-local variables by calls, and by descriptors.
MOD_TLS_CALLS :=
MOD_TLS_DESCRIPTORS := -mtls-dialect=gnu2
# AT_PLATFORM; for it the C library has names of its own on some processors.
MOD_PLATFORMS := x86_64 haswell xeon_phi
MOD_LEVEL := x86-64-v2
# With relocations that other machines' linkers do not write.
MOD_ONLY := libreloc_pc64 libreloc_overflow libspeak_rs libspeak_f90
$(MOD)/libspeak_rs.so: $(MOD_SRC)/speak_rs.s
	$(MOD_CC) $<
$(MOD)/libspeak_f90.so: $(MOD_SRC)/speak.f90
	@mkdir -p $(@D)
	$(Q)gfortran -g -O0 -fPIC -J$(MOD) $(MOD_LINK) -o $@ $<
# The linker would refuse what libreloc.so has.
MOD_RELOC := -Wl,-z,noreloc-overflow
