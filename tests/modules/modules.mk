# SPDX-License-Identifier: MIT
# Shared objects that the unit tests load; README.md says which is for what. Built with
# explicit flags: no sanitizer, no coverage, so that what the loader maps is what
# compilers make by default.

MOD := $(BUILD)/modules
MOD_SRC := tests/modules
MOD_CFLAGS := -O1 -g -fPIC -Wall -Wextra -Itests/machine/$(ARCH)
MOD_LINK = -shared -Wl,-soname,$(notdir $@) -L$(MOD)
MOD_CC = @mkdir -p $(@D); $(if $(Q),echo "  MODULE  $@";) set -e; $(if $(V),set -x;) $(CC) -std=gnu11 $(MOD_CFLAGS) $(MOD_LINK) -o $@
MOD_CXX = @mkdir -p $(@D); $(if $(Q),echo "  MODULE  $@";) set -e; $(if $(V),set -x;) $(CXX) -std=c++17 $(MOD_CFLAGS) $(MOD_LINK) -o $@
ORIGIN := -Wl,-rpath,'$$ORIGIN
include tests/machine/$(ARCH)/modules.mk

# One source, nothing special: name of the library and of its source.
MOD_PLAIN := databases align atfork children forks basic dl_quiet undefined tls dl exit jump thread early_keys system memory own_file frames patcher locks constants faults overrun waiting idle wide
MODULES := $(MOD_PLAIN:%=$(MOD)/lib%.so)

$(MOD)/libthread.so: MOD_FLAGS = -lstdc++
$(MOD)/liboverrun.so: MOD_FLAGS = -fno-builtin
$(MOD_PLAIN:%=$(MOD)/lib%.so): $(MOD)/lib%.so: $(MOD_SRC)/%.c $(MOD_SRC)/note.h
	$(MOD_CC) $< $(MOD_FLAGS)

# The same library laid out in other ways.
$(MOD)/libbasic_relr.so: MOD_FLAGS = -Wl,-z,pack-relative-relocs
$(MOD)/libbasic_sysv.so: MOD_FLAGS = -Wl,--hash-style=sysv
$(MOD)/libbasic_align.so: MOD_FLAGS = -Wl,-z,max-page-size=0x200000 -Wl,-z,common-page-size=0x200000
$(MOD)/libbasic_textrel.so: MOD_FLAGS = -fno-pic -mcmodel=large -Wl,-z,notext
$(MOD)/libbasic_gnu.so: MOD_FLAGS = -Wl,--hash-style=gnu
$(MOD)/libbasic_gold.so: MOD_FLAGS = -fuse-ld=gold
$(MOD)/libbasic_strip.so: MOD_FLAGS = -Wl,--strip-all
$(MOD)/libbasic_isa.so: MOD_FLAGS = -Wl,-z,x86-64-v2
MOD_BASIC := relr sysv gnu align textrel gold strip isa
MODULES += $(MOD_BASIC:%=$(MOD)/libbasic_%.so)

$(MOD_BASIC:%=$(MOD)/libbasic_%.so): $(MOD_SRC)/basic.c $(MOD_SRC)/note.h
	$(MOD_CC) $< $(MOD_FLAGS)

# Chains: top needs middle needs bottom. top finds its own by DT_RUNPATH, rtop all of
# them by DT_RPATH; utop's DT_RUNPATH leads to a middle without any path of its own.
MODULES += $(MOD)/dep/libbottom.so $(MOD)/dep/libmiddle.so $(MOD)/dep/libplain.so \
	$(MOD)/libtop.so $(MOD)/librtop.so $(MOD)/libutop.so $(MOD)/libboth.so

$(MOD)/dep/libbottom.so: $(MOD_SRC)/order.c
	$(MOD_CC) $< -DORDER_NAME=bottom -DORDER_VALUE=1
$(MOD)/dep/libmiddle.so: $(MOD_SRC)/order.c $(MOD)/dep/libbottom.so
	$(MOD_CC) $< -DORDER_NAME=middle -DORDER_CALLS=bottom -DORDER_VALUE=2 -L$(MOD)/dep -lbottom \
		$(ORIGIN)' -Wl,--enable-new-dtags
$(MOD)/dep/libplain.so: $(MOD_SRC)/order.c $(MOD)/dep/libbottom.so
	$(MOD_CC) $< -DORDER_NAME=plain -DORDER_CALLS=bottom -DORDER_VALUE=4 -L$(MOD)/dep -lbottom
$(MOD)/libtop.so: $(MOD_SRC)/order.c $(MOD)/dep/libmiddle.so
	$(MOD_CC) $< -DORDER_NAME=top -DORDER_CALLS=middle -DORDER_VALUE=3 -L$(MOD)/dep -lmiddle \
		$(ORIGIN)/dep' -Wl,--enable-new-dtags -Wl,--allow-shlib-undefined
$(MOD)/librtop.so: $(MOD_SRC)/order.c $(MOD)/dep/libplain.so
	$(MOD_CC) $< -DORDER_NAME=rtop -DORDER_CALLS=plain -DORDER_VALUE=5 -L$(MOD)/dep -lplain \
		-Wl,-rpath,'$${ORIGIN}/dep' -Wl,--disable-new-dtags -Wl,--allow-shlib-undefined
$(MOD)/libutop.so: $(MOD_SRC)/order.c $(MOD)/dep/libplain.so
	$(MOD_CC) $< -DORDER_NAME=utop -DORDER_CALLS=plain -DORDER_VALUE=6 -L$(MOD)/dep -lplain \
		$(ORIGIN)/dep' -Wl,--enable-new-dtags -Wl,--allow-shlib-undefined
# Needs middle and bottom itself: a diamond.
$(MOD)/libboth.so: $(MOD_SRC)/order.c $(MOD)/dep/libmiddle.so $(MOD)/dep/libbottom.so
	$(MOD_CC) $< -DORDER_NAME=both -DORDER_CALLS=middle -DORDER_VALUE=7 -Wl,--no-as-needed \
		-L$(MOD)/dep -lmiddle -lbottom $(ORIGIN)/dep' -Wl,--enable-new-dtags

# $LIB and $PLATFORM. For the latter the C library has names of its own on some processors,
# ours is the kernel's: a directory for each.
MOD_TOKEN := lib/$(ARCH)-linux-gnu $(MOD_PLATFORMS)
MOD_TOKENS := $(MOD_TOKEN:%=$(MOD)/token/%/libtoken.so)
MODULES += $(MOD_TOKENS) $(MOD)/libtoken_lib.so $(MOD)/libtoken_platform.so
$(MOD_TOKENS): $(MOD_SRC)/order.c
	$(MOD_CC) $< -DORDER_NAME=token -DORDER_VALUE=1
$(MOD)/libtoken_lib.so: MOD_FLAGS = -DORDER_NAME=token_lib $(ORIGIN)/token/$$LIB'
$(MOD)/libtoken_platform.so: MOD_FLAGS = -DORDER_NAME=token_platform $(ORIGIN)/token/$${PLATFORM}'
$(MOD)/libtoken_lib.so $(MOD)/libtoken_platform.so: $(MOD_SRC)/order.c $(MOD_TOKENS)
	$(MOD_CC) $< -DORDER_CALLS=token -DORDER_VALUE=8 -L$(MOD)/token/$(ARCH) -ltoken $(MOD_FLAGS)

# A build for better processors beside the plain one.
MOD_HWCAP := $(MOD)/hwcap/libhwcap.so $(MOD)/hwcap/glibc-hwcaps/$(MOD_LEVEL)/libhwcap.so
MODULES += $(MOD_HWCAP) $(MOD)/libhwcap_user.so
$(MOD_HWCAP): $(MOD_SRC)/order.c
	$(MOD_CC) $< -DORDER_NAME=hwcap -DORDER_VALUE=$(if $(findstring glibc-hwcaps,$@),2,1)
$(MOD)/libhwcap_user.so: $(MOD_SRC)/order.c $(MOD_HWCAP)
	$(MOD_CC) $< -DORDER_NAME=hwcap_user -DORDER_CALLS=hwcap -DORDER_VALUE=8 -L$(MOD)/hwcap -lhwcap \
		$(ORIGIN)/hwcap'

# A dependency that exists when it is linked and not when it is loaded; behind one
# that is found, so that a part of the group is there when the load fails.
MODULES += $(MOD)/libmissing.so
$(MOD)/stub/libnowhere.so: $(MOD_SRC)/order.c
	$(MOD_CC) $< -DORDER_NAME=nowhere -DORDER_VALUE=0
$(MOD)/libmissing.so: $(MOD_SRC)/order.c $(MOD)/stub/libnowhere.so $(MOD)/dep/libbottom.so
	$(MOD_CC) $< -DORDER_NAME=missing -DORDER_CALLS=nowhere -DORDER_VALUE=1 -Wl,--no-as-needed \
		-L$(MOD)/dep -lbottom -L$(MOD)/stub -lnowhere $(ORIGIN)/dep' -Wl,--enable-new-dtags

# Needs a good library and one with an undefined symbol.
MODULES += $(MOD)/libundefined_dep.so
$(MOD)/libundefined_dep.so: $(MOD_SRC)/order.c $(MOD)/libundefined.so $(MOD)/dep/libbottom.so
	$(MOD_CC) $< -DORDER_NAME=undefined_dep -DORDER_CALLS=bottom -DORDER_VALUE=1 -Wl,--no-as-needed \
		-L$(MOD)/dep -lbottom -lundefined $(ORIGIN):$$ORIGIN/dep' -Wl,--enable-new-dtags \
		-Wl,--allow-shlib-undefined

# Needs each other.
MODULES += $(MOD)/libcycle_a.so $(MOD)/libcycle_b.so
$(MOD)/stub/libcycle_a.so: $(MOD_SRC)/cycle.c
	$(MOD_CC) $< -DCYCLE_A
$(MOD)/libcycle_b.so: $(MOD_SRC)/cycle.c $(MOD)/stub/libcycle_a.so
	$(MOD_CC) $< -L$(MOD)/stub -lcycle_a $(ORIGIN)' -Wl,--allow-shlib-undefined
$(MOD)/libcycle_a.so: $(MOD_SRC)/cycle.c $(MOD)/libcycle_b.so
	$(MOD_CC) $< -DCYCLE_A -lcycle_b $(ORIGIN)' -Wl,--allow-shlib-undefined

# A name that another library has made global, or not.
MODULES += $(MOD)/libprovider.so $(MOD)/libprovider_other.so $(MOD)/liblate.so
$(MOD)/libprovider.so: $(MOD_SRC)/late.c
	$(MOD_CC) $< -DGLOBAL_PROVIDER=42
$(MOD)/libprovider_other.so: $(MOD_SRC)/late.c
	$(MOD_CC) $< -DGLOBAL_PROVIDER=7
$(MOD)/liblate.so: $(MOD_SRC)/late.c
	$(MOD_CC) $<

MODULES += $(MOD)/libnameless.so $(MOD)/libdl_next.so $(MOD)/libdl_user.so \
	$(MOD)/libdl_rpath.so
$(MOD)/libdl_next.so: $(MOD_SRC)/dl.c $(MOD)/libprovider.so
	$(MOD_CC) $< -Wl,--no-as-needed -lprovider $(ORIGIN)'
$(MOD)/libnameless.so: private MOD_LINK = -shared
$(MOD)/libnameless.so: $(MOD_SRC)/who.c $(MOD_SRC)/note.h
	$(MOD_CC) $< -DWHO_NAME=nameless
$(MOD)/libdl_user.so: $(MOD_SRC)/late.c $(MOD)/libdl.so
	$(MOD_CC) $< -DGLOBAL_PROVIDER -Wl,--no-as-needed $(MOD)/libdl.so $(ORIGIN)'
$(MOD)/libdl_rpath.so: $(MOD_SRC)/dl.c
	$(MOD_CC) $< $(ORIGIN)/dep' -Wl,--disable-new-dtags

# Versions; old/ has a release without V1's definition.
MODULES += $(MOD)/libversion.so $(MOD)/new/libversion.so $(MOD)/libversion_user.so \
	$(MOD)/libversion_broken.so
$(MOD)/libversion.so: $(MOD_SRC)/version.c $(MOD_SRC)/version.map
	$(MOD_CC) $< -Wl,--version-script=$(MOD_SRC)/version.map
$(MOD)/new/libversion.so: $(MOD_SRC)/version.c $(MOD_SRC)/version2.map
	$(MOD_CC) $< -DVERSION_ONLY_2 -Wl,--version-script=$(MOD_SRC)/version2.map
$(MOD)/libversion_user.so: $(MOD_SRC)/version_user.c $(MOD)/libversion.so
	$(MOD_CC) $< -lversion $(ORIGIN)' -Wl,--enable-new-dtags
# Two filters in front of one library.
MODULES += $(MOD)/libfiltee.so $(MOD)/libfilter.so $(MOD)/libauxiliary.so \
	$(MOD)/libfilter_user.so
$(MOD)/libfilter_user.so: $(MOD_SRC)/filter.c $(MOD)/libfilter.so
	$(MOD_CC) $< -DFILTER_USER -lfilter $(ORIGIN)'
$(MOD)/libfiltee.so: $(MOD_SRC)/filter.c
	$(MOD_CC) $< -DFILTER_ANSWER=2
$(MOD)/libfilter.so: $(MOD_SRC)/filter.c $(MOD)/libfiltee.so
	$(MOD_CC) $< -Wl,--filter=libfiltee.so $(ORIGIN)'
$(MOD)/libauxiliary.so: $(MOD_SRC)/filter.c $(MOD)/libfiltee.so
	$(MOD_CC) $< -Wl,--auxiliary=libfiltee.so $(ORIGIN)'
# A version that is called like the library, as libjansson's: both have one name entry.
MODULES += $(MOD)/libversion_own.so
$(MOD)/libversion_own.so: $(MOD_SRC)/version.c
	$(MOD_CC) $< -DVERSION_ONLY_2 -Wl,--default-symver
$(MOD)/libversion_broken.so: $(MOD_SRC)/version_user.c $(MOD)/libversion.so $(MOD)/new/libversion.so
	$(MOD_CC) $< -lversion $(ORIGIN)/new' -Wl,--enable-new-dtags

# Versions again: a user that was linked to a library without any, a library that has
# lost a version, and another one with the same.
MODULES += $(MOD)/libversion_plain.so $(MOD)/libversion_gone.so $(MOD)/gone/libversion.so \
	$(MOD)/libversion_rival.so
$(MOD)/stub/libversion.so: $(MOD_SRC)/version.c
	$(MOD_CC) $< -DVERSION_ONLY_2
$(MOD)/libversion_plain.so: $(MOD_SRC)/version_user.c $(MOD)/stub/libversion.so $(MOD)/libversion.so
	$(MOD_CC) $< -DVERSION_NONE $(MOD)/stub/libversion.so $(ORIGIN)'
$(MOD)/gone/libversion.so: $(MOD_SRC)/version.c $(MOD_SRC)/version_gone.map
	$(MOD_CC) $< -DVERSION_ONLY_2 -Wl,--version-script=$(MOD_SRC)/version_gone.map
$(MOD)/libversion_gone.so: $(MOD_SRC)/version_user.c $(MOD)/libversion.so $(MOD)/gone/libversion.so
	$(MOD_CC) $< -lversion $(ORIGIN)/gone'
$(MOD)/libversion_rival.so: $(MOD_SRC)/version.c $(MOD_SRC)/version.map
	$(MOD_CC) $< -DVERSION_MORE=10 -Wl,--version-script=$(MOD_SRC)/version.map

# Thread-local storage.
MODULES += $(MOD)/libtls_desc.so
$(MOD)/libtls_desc.so: $(MOD_SRC)/tls.c
	$(MOD_CC) $< -O2 $(MOD_TLS_DESCRIPTORS)
# Static blocks are small: libtls_ie_large.so asks for too much.
MODULES += $(MOD)/libtls_ie.so $(MOD)/libtls_ie_large.so $(MOD)/libtls_small.so $(MOD)/libtls_ie_user.so
$(MOD)/libtls_ie.so: $(MOD_SRC)/tls.c
	$(MOD_CC) $< -ftls-model=initial-exec -DTLS_LARGE=64
$(MOD)/libtls_ie_large.so: $(MOD_SRC)/tls.c
	$(MOD_CC) $< -ftls-model=initial-exec
$(MOD)/libtls_small.so: $(MOD_SRC)/tls.c
	$(MOD_CC) $< -DTLS_LARGE=64
$(MOD)/libtls_ie_user.so: $(MOD_SRC)/tls_user.c $(MOD)/libtls_small.so
	$(MOD_CC) $< -ftls-model=initial-exec -ltls_small $(ORIGIN)' -Wl,--enable-new-dtags
MODULES += $(MOD)/libtls_user.so $(MOD)/libtls_anyone.so $(MOD)/libtls_host_ie.so $(MOD)/libtls_dtor.so
$(MOD)/libtls_anyone.so: $(MOD_SRC)/tls_user.c
	$(MOD_CC) $<
$(MOD)/libtls_host_ie.so: $(MOD_SRC)/tls_user.c
	$(MOD_CC) $< -DHOST_ONLY -ftls-model=initial-exec
$(MOD)/libtls_user.so: $(MOD_SRC)/tls_user.c $(MOD)/libtls.so
	$(MOD_CC) $< -ltls $(ORIGIN)' -Wl,--enable-new-dtags
$(MOD)/libtls_dtor.so: $(MOD_SRC)/tls_dtor.cc $(MOD_SRC)/note.h
	$(MOD_CXX) $<

MOD_TLS := gd ld gnu2 initial
MODULES += $(MOD_TLS:%=$(MOD)/libtls_%.so) $(MOD)/libtls_weak.so $(MOD)/libtls_weak_desc.so
$(MOD)/libtls_gd.so: MOD_FLAGS = $(MOD_TLS_CALLS)
$(MOD)/libtls_ld.so: MOD_FLAGS = -DLOCAL $(MOD_TLS_CALLS)
$(MOD)/libtls_initial.so: MOD_FLAGS = -DSMALL -ftls-model=initial-exec
$(MOD)/libtls_gnu2.so: MOD_FLAGS = -O2 $(MOD_TLS_DESCRIPTORS)
$(MOD_TLS:%=$(MOD)/libtls_%.so): $(MOD_SRC)/tls_probe.c $(MOD_SRC)/note.h
	$(MOD_CC) $< $(MOD_FLAGS)
$(MOD)/libtls_weak.so: $(MOD_SRC)/tls_weak.c $(MOD_SRC)/note.h
	$(MOD_CC) $<
$(MOD)/libtls_weak_desc.so: $(MOD_SRC)/tls_weak.c $(MOD_SRC)/note.h
	$(MOD_CC) $< -DWITH_DESCRIPTORS $(MOD_TLS_DESCRIPTORS)
MODULES += $(MOD)/libtls_cxx.so $(MOD)/dep/libtls_cxx_def.so
$(MOD)/dep/libtls_cxx_def.so: $(MOD_SRC)/tls_cxx.cc $(MOD_SRC)/note.h
	$(MOD_CXX) $< -DTLS_DEFINES
$(MOD)/libtls_cxx.so: $(MOD_SRC)/tls_cxx.cc $(MOD_SRC)/note.h $(MOD)/dep/libtls_cxx_def.so
	$(MOD_CXX) $< -L$(MOD)/dep -ltls_cxx_def $(ORIGIN)/dep'

# C++.
MODULES += $(MOD)/libthrow.so $(MOD)/libcatch.so $(MOD)/libunique_a.so $(MOD)/libunique_b.so
$(MOD)/libthrow.so: $(MOD_SRC)/throw.cc $(MOD_SRC)/throw.h
	$(MOD_CXX) $<
MODULES += $(MOD)/libthrow_static.so
$(MOD)/libthrow_static.so: $(MOD_SRC)/throw.cc $(MOD_SRC)/throw.h
	$(MOD_CXX) $< -static-libgcc -static-libstdc++
MODULES += $(MOD)/libunwind_probe.so $(MOD)/libthrow_init.so
$(MOD)/libunwind_probe.so: $(MOD_SRC)/unwind.cc $(MOD_SRC)/note.h
	$(MOD_CXX) $< $(ORIGIN)'
MODULES += $(MOD)/libunwind_late.so
$(MOD)/libunwind_late.so: $(MOD_SRC)/unwind_late.cc
	$(MOD_CXX) $<
$(MOD)/libthrow_init.so: $(MOD_SRC)/throw_init.cc
	$(MOD_CXX) $<
$(MOD)/libcatch.so: $(MOD_SRC)/catch.cc $(MOD_SRC)/throw.h $(MOD)/libthrow.so
	$(MOD_CXX) $< -lthrow $(ORIGIN)' -Wl,--enable-new-dtags
$(MOD)/libunique_a.so $(MOD)/libunique_b.so: $(MOD_SRC)/unique.cc $(MOD_SRC)/unique.h
	$(MOD_CXX) $< $(if $(findstring _a,$@),-DUNIQUE_A)

# Order of constructors and destructors: b needs a.
MODULES += $(MOD)/liblifetime_a.so $(MOD)/liblifetime_b.so
$(MOD)/liblifetime_a.so: $(MOD_SRC)/lifetime.cc $(MOD_SRC)/note.h
	$(MOD_CXX) $< -DNAME='"a"' -DTOUCH=lifetime_touch_a
$(MOD)/liblifetime_b.so: $(MOD_SRC)/lifetime.cc $(MOD_SRC)/note.h $(MOD)/liblifetime_a.so
	$(MOD_CXX) $< -DNAME='"b"' -DTOUCH=lifetime_touch_b -DTOUCH_NEEDED=lifetime_touch_a \
		-llifetime_a $(ORIGIN)' -Wl,--enable-new-dtags

# References to functions of the program, one of them with a name as Python's.
MODULES += $(MOD)/libhost_name.so $(MOD)/libpython_name.so $(MOD)/libpython_name_weak.so
$(MOD)/libhost_name.so: $(MOD_SRC)/python_name.c
	$(MOD_CC) $< -DREFERRED=host_only -DREFERENCE=
$(MOD)/libpython_name.so: $(MOD_SRC)/python_name.c
	$(MOD_CC) $< -DREFERRED=PyHost_Only -DREFERENCE=
$(MOD)/libpython_name_weak.so: $(MOD_SRC)/python_name.c
	$(MOD_CC) $< -DREFERRED=PyHost_Only -DREFERENCE=weak

# Needs libpython itself, and a library that needs that one.
MODULES += $(MOD)/libneeds_python.so $(MOD)/libneeds_python_user.so
$(MOD)/libneeds_python.so: $(MOD_SRC)/python_name.c
	$(MOD_CC) $< -DREFERRED=PyList_Append -DREFERENCE= -Wl,--no-as-needed $(PYTHON_LIBS)
$(MOD)/libneeds_python_user.so: $(MOD_SRC)/basic.c $(MOD_SRC)/note.h $(MOD)/libneeds_python.so
	$(MOD_CC) $< -Wl,--no-as-needed -lneeds_python $(ORIGIN)' -Wl,--enable-new-dtags

# An extension module, for `import`.
MODULES += $(MOD)/cpp_globals.so
$(MOD)/cpp_globals.so: $(MOD_SRC)/cpp_globals.cc
	$(MOD_CXX) $< $(PYTHON_CFLAGS)

# One for debugger sessions, as written, and two libraries that it calls.
MODULES += $(MOD)/walk.so $(MOD)/libwalk_dep.so $(MOD)/libwalk_plain.so
$(MOD)/walk.so: $(MOD_SRC)/walk.cc $(MOD)/libwalk_dep.so $(MOD)/libwalk_plain.so
	$(MOD_CXX) -O0 $< $(PYTHON_CFLAGS) -lwalk_dep -lwalk_plain $(ORIGIN)' -Wl,--enable-new-dtags
$(MOD)/libwalk_dep.so: $(MOD_SRC)/walk_dep.c
	$(MOD_CC) -O0 $<
$(MOD)/libwalk_plain.so: $(MOD_SRC)/walk_dep.c
	$(MOD_CC) -g0 -s $< -DWALK_PLAIN

MODULES += $(MOD)/libifunc.so
$(MOD)/libifunc.so: $(MOD_SRC)/ifunc.c
	$(MOD_CC) $<

# Compilers that tell debuggers what they have made. `direct` is as llvmlite's LLVM, `exported` as
# a shared libLLVM, `late` and `symbolic` without a mutex, one of them as CPython 3.15.
MOD_JIT := direct exported late symbolic
MODULES += $(MOD_JIT:%=$(MOD)/libjit_%.so)
$(MOD)/libjit_direct.so: MOD_FLAGS = -fvisibility=hidden -DJIT_GUARDED
$(MOD)/libjit_late.so: MOD_FLAGS = -fvisibility=hidden -DJIT_LATE
$(MOD)/libjit_symbolic.so: MOD_FLAGS = -Wl,-Bsymbolic -DJIT_RESETS -DJIT_LATE
$(MOD_JIT:%=$(MOD)/libjit_%.so): $(MOD_SRC)/jit.c
	$(MOD_CC) $< $(MOD_FLAGS)

# Dynamic relocations of every type.
MODULES += $(MOD)/dep/libreloc_dep.so $(MOD)/libreloc.so $(MOD_ONLY:%=$(MOD)/%.so)
$(MOD)/dep/libreloc_dep.so: $(MOD_SRC)/reloc_dep.c
	$(MOD_CC) $<
$(MOD)/libreloc.so: $(MOD_SRC)/reloc.c $(MOD_SRC)/note.h $(MOD)/dep/libreloc_dep.so
	$(MOD_CC) $< -L$(MOD)/dep -lreloc_dep $(ORIGIN)/dep' $(MOD_RELOC)
$(MOD)/libreloc_pc64.so: $(MOD_SRC)/reloc_pc64.c $(MOD_SRC)/note.h $(MOD)/dep/libreloc_dep.so
	$(MOD_CC) $< -L$(MOD)/dep -lreloc_dep $(ORIGIN)/dep'
$(MOD)/libreloc_overflow.so: $(MOD_SRC)/reloc_overflow.c
	$(MOD_CC) $< -Wl,-z,noreloc-overflow

# One name in many libraries.
MOD_WHO := first plain symbolic protected nodelete nodlopen
MODULES += $(MOD_WHO:%=$(MOD)/libwho_%.so)
$(MOD)/libwho_symbolic.so: MOD_FLAGS = -Wl,-Bsymbolic
$(MOD)/libwho_protected.so: MOD_FLAGS = -fvisibility=protected
$(MOD)/libwho_nodelete.so: MOD_FLAGS = -Wl,-z,nodelete
$(MOD)/libwho_nodlopen.so: MOD_FLAGS = -Wl,-z,nodlopen
$(MOD_WHO:%=$(MOD)/libwho_%.so): $(MOD)/libwho_%.so: $(MOD_SRC)/who.c $(MOD_SRC)/note.h
	$(MOD_CC) $< -DWHO_NAME=$* $(MOD_FLAGS)

# Constructors and destructors.
MODULES += $(MOD)/libinit.so $(MOD)/libsiblings.so $(MOD)/libmesh.so $(MOD)/libring.so
$(MOD)/libinit.so: $(MOD_SRC)/init.c $(MOD_SRC)/note.h
	$(MOD_CC) $< -Wl,-init=init_old -Wl,-fini=fini_old
MOD_ORDER = $(MOD_CC) $(MOD_SRC)/order.c -DORDER_VALUE=8 -Wl,--no-as-needed -Wl,--allow-shlib-undefined \
	-L$(MOD)/dep -Wl,--enable-new-dtags
$(MOD)/dep/libleft.so $(MOD)/dep/libright.so $(MOD)/dep/libfar.so: $(MOD_SRC)/order.c
	$(MOD_ORDER) -DORDER_NAME=$(patsubst lib%.so,%,$(notdir $@))
$(MOD)/libsiblings.so: $(MOD)/dep/libleft.so $(MOD)/dep/libright.so
	$(MOD_ORDER) -DORDER_NAME=siblings -DORDER_CALLS=left -lleft -lright $(ORIGIN)/dep'
# mesh needs knot, left and tie; knot needs far; tie needs knot and right.
$(MOD)/dep/libknot.so: $(MOD)/dep/libfar.so
	$(MOD_ORDER) -DORDER_NAME=knot -lfar $(ORIGIN)'
$(MOD)/dep/libtie.so: $(MOD)/dep/libknot.so $(MOD)/dep/libright.so
	$(MOD_ORDER) -DORDER_NAME=tie -lknot -lright $(ORIGIN)'
$(MOD)/libmesh.so: $(MOD)/dep/libknot.so $(MOD)/dep/libleft.so $(MOD)/dep/libtie.so
	$(MOD_ORDER) -DORDER_NAME=mesh -lknot -lleft -ltie $(ORIGIN)/dep'
# ring needs ring_a, which needs ring_b, which needs ring_a.
$(MOD)/stub/libring_a.so: $(MOD_SRC)/order.c
	$(MOD_ORDER) -DORDER_NAME=ring_a
$(MOD)/dep/libring_b.so: $(MOD)/stub/libring_a.so
	$(MOD_ORDER) -DORDER_NAME=ring_b -L$(MOD)/stub -lring_a $(ORIGIN)'
$(MOD)/dep/libring_a.so: $(MOD)/dep/libring_b.so
	$(MOD_ORDER) -DORDER_NAME=ring_a -lring_b $(ORIGIN)'
$(MOD)/libring.so: $(MOD)/dep/libring_a.so
	$(MOD_ORDER) -DORDER_NAME=ring -lring_a $(ORIGIN)/dep'

# Libraries that load others from their constructors and destructors.
MOD_LOADERS := nested fini_open self
MODULES += $(MOD_LOADERS:%=$(MOD)/lib%.so)
$(MOD_LOADERS:%=$(MOD)/lib%.so): $(MOD)/lib%.so: $(MOD_SRC)/%.c $(MOD_SRC)/note.h $(MOD)/libbasic.so
	$(MOD_CC) $< $(ORIGIN)' -Wl,--enable-new-dtags

# The same with a dependency, which goes too.
MODULES += $(MOD)/libnested_user.so
$(MOD)/libnested_user.so: $(MOD_SRC)/nested.c $(MOD_SRC)/note.h $(MOD)/libbasic.so $(MOD)/dep/libbottom.so
	$(MOD_CC) $< -Wl,--no-as-needed -L$(MOD)/dep -lbottom $(ORIGIN):$$ORIGIN/dep' -Wl,--enable-new-dtags

# It needs libinit.so and a library whose constructor runs first and opens libinit.so.
MODULES += $(MOD)/libinit_user.so
$(MOD)/dep/libnested_init.so: $(MOD_SRC)/nested.c $(MOD_SRC)/note.h $(MOD)/libinit.so
	$(MOD_CC) $< -DNESTED_OPENS='"libinit.so"' $(ORIGIN)/..' -Wl,--enable-new-dtags
$(MOD)/libinit_user.so: $(MOD_SRC)/order.c $(MOD)/dep/libnested_init.so $(MOD)/libinit.so
	$(MOD_ORDER) -DORDER_NAME=init_user -L$(MOD) -linit -lnested_init $(ORIGIN):$$ORIGIN/dep'

# What libraries leave for the end.
MODULES += $(MOD)/libat_end.so
$(MOD)/libat_end.so: $(MOD_SRC)/at_end.cc
	$(MOD_CXX) $<

MODULES += $(MOD)/libends_a.so $(MOD)/libends_b.so
$(MOD)/libends_a.so: $(MOD_SRC)/ends.cc $(MOD_SRC)/note.h $(MOD)/libbasic.so
	$(MOD_CXX) $< -DNAME='"a"' $(ORIGIN)' -Wl,--enable-new-dtags
$(MOD)/libends_b.so: $(MOD_SRC)/ends.cc $(MOD_SRC)/note.h $(MOD)/libbasic.so $(MOD)/libends_a.so
	$(MOD_CXX) $< -DNAME='"b"' -Wl,--no-as-needed -lends_a $(ORIGIN)' -Wl,--enable-new-dtags

# Flags are here, and decide what is tested.
$(MODULES): $(MOD_SRC)/modules.mk

# The unit tests need them, whichever way a test is started.
$(UNITS): | $(MODULES)

# Failure injection: the loader's calls of these go through the test program.
INJECTED := malloc calloc realloc reallocarray strdup vasprintf asprintf mmap mprotect open \
	fstat memfd_create pread pwrite
$(BUILD)/tests/test_inject: private WRAP := $(INJECTED)

# Languages, as debuggers see them.
MODULES += $(MOD)/libregistry.so
$(MOD)/libregistry.so: $(MOD_SRC)/registry.cc
	$(MOD_CXX) $<

MODULES += $(MOD)/libspeak.so
$(MOD)/libspeak.so: $(MOD_SRC)/speak.cc
	$(MOD_CXX) -O0 $<
