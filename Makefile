# Gorgon: one Makefile for everything. `make help` lists the targets.
#
#   BUILD=dir     where results go (default build, or build/san-... with SAN)
#   SAN=address,undefined | thread    build and test with sanitizers
#   V=1           show commands
#   ARCH=aarch64  the machine to build for (default: that of CC; CC=aarch64-linux-gnu-gcc BUILD=build/aarch64)
#   CC= CFLAGS= LDFLAGS= PREFIX= LIBDIR= INCLUDEDIR= DESTDIR=   as usual
#   RPATH=        where programs look for the libraries before the system does (empty: nowhere, for packages)
#   GDB_DATADIR=  where gdb looks for auto-load/LIBDIR (default DATADIR, /usr/share for /usr/local)
#   DEPS=no       never install packages; name what is missing

VERSION := 1.0.0
SOVERSION := 0

comma := ,
SAN ?=
BUILD ?= build$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))
# One name for a folder: what was made under its absolute path has its dependencies under that name.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
ifeq ($(abspath $(BUILD)),$(CURDIR))
$(error BUILD=$(BUILD) is the folder of the sources: results need a folder of their own)
endif
CC ?= gcc
ifeq ($(origin CC),default)
CC := gcc
endif
CXX := g++
# From 17 on: older ones do not know the processors' levels.
CLANG := clang-19
# analyze looks with it, too, when it is named: clang-tidy-19.
CLANG_TIDY :=
CFLAGS ?= -O2 -g
ASFLAGS ?= -g
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
# A build and an installed tree find their own libraries, wherever they lie.
RPATH ?= $$ORIGIN:$$ORIGIN/../lib:$$ORIGIN/..
# Debian's gdb finds scripts there only, for libraries in /usr/local, too.
GDB_DATADIR ?= $(if $(filter /usr/local/share,$(DATADIR)),/usr/share,$(DATADIR))
DEPS ?= yes
PYTHON3 := /usr/bin/python3
Q := $(if $(V),,@)

# Required flags stay apart from the user's.
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla $(if $(CI),-Werror)
# gcc's thread sanitizer ignores fences, and says so; ours order what debuggers read.
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer $(if $(findstring undefined,$(SAN)),-fno-sanitize-recover=undefined) $(if $(findstring thread,$(SAN)),-Wno-tsan))
BASE := -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARN) $(SANFLAGS) -MMD -MP
# The lowest first; see docs/architecture.md.
LOADER_FLOORS := base image ns $(addprefix process/,memory libc threads faults kernel) process debug load dl copy isolate $(addprefix python/,calls arrays values lines template) python
# The machine that CC compiles for: x86_64, aarch64. What is of one machine is in loader/machine/MACHINE, in a folder for each floor.
# A new machine has no compiler yet when make reads this: set-up, which make runs first, installs it.
ifeq ($(ARCH),)
ARCH := $(firstword $(subst -, ,$(shell $(CC) -dumpmachine 2>/dev/null)) $(shell uname -m))
endif
INCLUDES := -Iloader -Iloader/machine/$(ARCH) -Ijitreg
# Any CPython's headers from 3.11 on: only the stable ABI's structures are used.
PYTHON_MINORS := 11 12 13 14 15
PYTHON_CFLAGS = $(shell for p in python3-embed $(PYTHON_MINORS:%=python-3.%); do \
	pkg-config --cflags $$p 2>/dev/null && break; done)
PYTHON_LIBS = $(shell for p in python3-embed $(PYTHON_MINORS:%=python-3.%-embed); do \
	pkg-config --libs $$p 2>/dev/null && break; done)
# Without pkg-config or Python make goes on as far as the set-up, which installs or names them.
JSON_CFLAGS = $(shell pkg-config --cflags json-c 2>/dev/null)
JSON_LIBS = $(shell pkg-config --libs json-c 2>/dev/null)

# gorgon.h is all of them.
PUBLIC_HEADERS := loader/gorgon.h $(wildcard loader/gorgon/*.h)
JITREG_SRC := $(wildcard jitreg/*.c jitreg/machine/*.c jitreg/file/*.c)
GORGON_SRC := $(wildcard $(LOADER_FLOORS:%=loader/%/*.c) $(addprefix loader/machine/$(ARCH)/,*/*.c */*/*.c))
GORGON_ASM := $(wildcard $(addprefix loader/machine/$(ARCH)/,*/*.S */*/*.S))
TOOL_SRC := $(wildcard tools/*.c)
SYMDUMP_SRC := $(wildcard tools/symdump/*.c) $(wildcard jitreg/machine/*.c)
UNIT_SRC := $(wildcard tests/*/test_*.c)
UNIT_LIB_SRC := $(wildcard tests/lib/*.c)
JITREG_UNIT_LIB_SRC := tests/jitreg/jitreg_util.c tests/jitreg/jitreg_world.c
HOSTS := $(BUILD)/host $(BUILD)/asked $(BUILD)/host_python $(BUILD)/soak $(BUILD)/stores $(BUILD)/tenants $(BUILD)/torture $(BUILD)/two

obj = $(patsubst %,$(BUILD)/obj/%.o,$(basename $(1)))
UNITS := $(foreach u,$(UNIT_SRC),$(BUILD)/tests/$(basename $(notdir $(u))))
# "3.11": the distribution's own, which tests are about.
TEST_PYTHON := $(shell $(PYTHON3) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)

LIBJITREG := $(BUILD)/libjitreg.so
LIBGORGON := $(BUILD)/libgorgon.so
PRODUCTS := $(BUILD)/gorgon $(BUILD)/gorgon-symdump $(LIBGORGON) $(BUILD)/libgorgon.a $(LIBJITREG) $(BUILD)/libjitreg.a
# What processes that a program starts import; libgorgon looks for it there.
CHILDREN := $(BUILD)/share/gorgon/children/gorgon.py
SCRIPTS := $(wildcard gdb/*.py gdb/gorgon_gdb/*.py lldb/*.py lldb/gorgon_lldb/*.py debuggers/gorgon_shared/*.py)

.PHONY: products all jitreg docs-process census abi release examples check check-all check-long check-long-all check-unit check-run check-jitreg check-symdump \
	check-gdb check-lldb check-parity coverage coverage-run parity docs-api docs-parity docs-plot docs-comparison docs-pictures bench-debug bench-extensions check-roots check-arm demo-arm built-for-tests fuzzers fuzz soak demo setup venv \
	bench wheel format lint analyze compile_commands.json install install-jitreg uninstall dist clean help
.DELETE_ON_ERROR:
.SUFFIXES:
.SECONDARY:

# What is installed.
products: $(PRODUCTS) $(BUILD)/man/gorgon.3 $(CHILDREN)

all: products $(HOSTS) $(BUILD)/rewrite $(BUILD)/inventory $(BUILD)/differ

# libjitreg alone, which uses nothing of the loader.
jitreg: $(LIBJITREG) $(BUILD)/libjitreg.a

# ---- libraries and tools ----------------------------------------------------

# Before anything is compiled: without this line the first message of a machine that is not set up is of a compiler.
$(BUILD)/.prerequisites: tools/prerequisites.sh
	@mkdir -p $(@D)
	@$< '$(CC)' '$(JSON_CFLAGS) $(PYTHON_CFLAGS)'
	@touch $@

$(BUILD)/obj/%.o: %.c | $(BUILD)/.prerequisites
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CC      $<")
	$(Q)$(CC) $(BASE) $(INCLUDES) $(EXTRA) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

$(BUILD)/obj/%_asm.o: %.S | $(BUILD)/.prerequisites
	@mkdir -p $(@D)
	@$(if $(Q),echo "  AS      $<")
	$(Q)$(CC) $(INCLUDES) $(CPPFLAGS) $(ASFLAGS) -MMD -MP -c -o $@ $<

# Debuggers step over what has no lines: a thread-local variable is no call.
$(BUILD)/obj/loader/ns/tls_access.o: override CFLAGS += -g0
$(patsubst %.S,$(BUILD)/obj/%_asm.o,$(filter %/tlsdesc.S,$(GORGON_ASM))): override ASFLAGS :=

$(BUILD)/obj/loader/python/%.o: EXTRA = $(PYTHON_CFLAGS)
$(BUILD)/obj/loader/python/values/children.o: EXTRA = $(PYTHON_CFLAGS) -DGORGON_DATADIR='"$(DATADIR)/gorgon"'
$(call obj,$(TOOL_SRC)): EXTRA = $(JSON_CFLAGS) -DGORGON_VERSION='"$(VERSION)"' \
	-DGORGON_DATADIR='"$(DATADIR)/gorgon"'

# $(1) name, $(2) libraries. The file has its soname, the plain name is a link to it.
define shared
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) -shared -pthread $(SANFLAGS) $(LDFLAGS) -Wl,-soname,$(1).so.$(SOVERSION) \
		-Wl,--version-script=$(3) -Wl,-z,relro,-z,now $(if $(SAN),,-Wl,-z,defs) \
		-o $(BUILD)/$(1).so.$(SOVERSION) $(filter %.o,$^) $(2)
	$(Q)ln -sf $(1).so.$(SOVERSION) $@
endef

$(LIBJITREG): $(call obj,$(JITREG_SRC)) jitreg/libjitreg.map
	$(call shared,libjitreg,-lelf -lz,jitreg/libjitreg.map)

$(CHILDREN): loader/python/children/gorgon.py
	@mkdir -p $(@D)
	$(Q)cp $< $@

# libjitreg.so shows its public functions only, so libgorgon.so has what both read .eh_frame by; libgorgon.a takes it from libjitreg.a.
$(LIBGORGON): $(call obj,$(GORGON_SRC) jitreg/file/eh_frame.c) $(GORGON_ASM:%.S=$(BUILD)/obj/%_asm.o) loader/libgorgon.map $(PUBLIC_HEADERS) $(LIBJITREG)
	$(call shared,libgorgon,-L$(BUILD) -ljitreg -lelf -lgcc_s -ldl $(if $(RPATH),-Wl$(comma)-rpath$(comma)'$$ORIGIN'),loader/libgorgon.map)
	$(Q)$(PYTHON3) tests/check_exports.py loader/libgorgon.map $@ $(PUBLIC_HEADERS)

$(BUILD)/libjitreg.a: $(call obj,$(JITREG_SRC))
$(BUILD)/libgorgon.a: $(call obj,$(GORGON_SRC)) $(GORGON_ASM:%.S=$(BUILD)/obj/%_asm.o)
$(BUILD)/libjitreg.a $(BUILD)/libgorgon.a:
	@$(if $(Q),echo "  AR      $@")
	$(Q)rm -f $@ && $(AR) rcs $@ $^

LINK_GORGON = -L$(BUILD) -lgorgon -ljitreg $(if $(RPATH),-Wl$(comma)-rpath$(comma)'$(RPATH)',-Wl$(comma)-rpath-link$(comma)$(BUILD)) -pthread

$(BUILD)/gorgon: $(call obj,$(TOOL_SRC)) $(LIBGORGON)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -Wl,--defsym=fopen=fopen64,--export-dynamic-symbol=fopen,--export-dynamic-symbol=fopen64 -o $@ $(filter %.o,$^) $(LINK_GORGON) $(JSON_LIBS)

# Reads other processes: nothing of our libraries is in it.
$(call obj,$(SYMDUMP_SRC)): EXTRA = $(JSON_CFLAGS) -DGORGON_VERSION='"$(VERSION)"'
$(BUILD)/gorgon-symdump: $(call obj,$(SYMDUMP_SRC))
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -ldw -lelf $(JSON_LIBS)

$(BUILD)/obj/tests/hosts/host_python.o: EXTRA = $(PYTHON_CFLAGS)
$(BUILD)/host_python: HOST_LIBS = $(PYTHON_LIBS)
$(HOSTS): $(BUILD)/%: $(BUILD)/obj/tests/hosts/%.o $(LIBGORGON)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LINK_GORGON) $(HOST_LIBS)

$(BUILD)/soak: $(call obj,tests/hosts/soak_calls.c)

# A function that is not exported.
$(BUILD)/rewrite: $(BUILD)/obj/tests/hosts/rewrite.o $(BUILD)/libgorgon.a $(BUILD)/libjitreg.a
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -lelf -lz -lgcc_s -ldl -pthread

# Damaged libraries under the system's linker and ours.
$(BUILD)/differ: $(call obj,tests/fuzz/differ.c tests/fuzz/mutate.c tests/fuzz/fuzz.c) $(BUILD)/libgorgon.a $(BUILD)/libjitreg.a
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ -lelf -lz -lgcc_s -ldl -pthread

# The names that private code gets from us; loader/process/NAMES.md is made of them and of what is decided on the others.
$(call obj,tests/hosts/inventory.c): EXTRA = $(JSON_CFLAGS)
$(BUILD)/inventory: $(BUILD)/obj/tests/hosts/inventory.o $(BUILD)/libgorgon.a $(BUILD)/libjitreg.a
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $^ -lelf -lz -lgcc_s -ldl $(JSON_LIBS) -pthread

docs-process: $(BUILD)/inventory
	$(PYTHON3) tools/process.py $< loader/process/NAMES.md

# Which names of the C library anybody imports, of what is installed and in more FOLDERS, of wheels for example.
census:
	$(PYTHON3) tests/inventory.py $(FOLDERS)

# What programs that were built against the libraries rely on; docs/stability.md says what may change, tests/run/test_documents_stability.py looks.
ABI_FLAGS := --no-corpus-path --no-comp-dir-path --no-show-locs --exported-interfaces-only --drop-private-types
abi: $(LIBGORGON) $(LIBJITREG)
	abidw $(ABI_FLAGS) $(PUBLIC_HEADERS:%=--header-file %) $(LIBGORGON) --out-file tests/abi/libgorgon.abi
	abidw $(ABI_FLAGS) --header-file jitreg/jitreg.h $(LIBJITREG) --out-file tests/abi/libjitreg.abi

# The plots of DEBUG.md and FEEL.md, out of what `make bench-debug REPORT=tests/bench/DEBUG` has written.
docs-plot:
	for name in DEBUG FEEL; do $(PYTHON3) tests/bench/panels.py tests/bench/$$name.md tests/bench/$$name.svg || exit; done

# Sessions of gdb and lldb as they look at a terminal.
docs-pictures: all
	for name in gdb lldb mixed flames; do BUILD=$(abspath $(BUILD)) $(PYTHON3) tools/picture.py $$name docs/$$name.svg || exit; done

# The figures of docs/comparison.md, out of tests/bench/LOAD.md and EXECUTOR.md.
docs-comparison:
	$(PYTHON3) tools/comparison.py docs/comparison.md

docs-parity:
	$(PYTHON3) tests/parity/page.py tests/parity/PARITY.md

# Pages of section 3, out of the headers, and the command's, out of its options; see tools/manual.py, manual_command.py.
COMMANDS := $(patsubst %,tools/%.c,run exec info doctor cache demo)
$(BUILD)/man/gorgon.3: $(PUBLIC_HEADERS) tools/manual.py tools/manual_command.py tools/gorgon.1.in $(COMMANDS)
	@$(if $(Q),echo "  MAN     $(@D)")
	$(Q)rm -rf $(@D) && $(PYTHON3) tools/manual.py loader/gorgon.h $(VERSION) $(@D)
	$(Q)$(PYTHON3) -B tools/manual_command.py tools/gorgon.1.in $(@D)/gorgon.1 $(COMMANDS)

# Pages of the interfaces in C and C++, out of the headers.
docs-api:
	@$(if $(Q),echo "  DOXYGEN $(BUILD)/api/html")
	$(Q)mkdir -p $(BUILD)/api && { cat docs/Doxyfile && echo "PROJECT_NUMBER=$(VERSION)" && \
		echo "OUTPUT_DIRECTORY=$(BUILD)/api"; } | doxygen -

# ---- tests --------------------------------------------------------------------

# tests/lib/cases.c has each program's list of cases.
UNIT_WRAP := -Wl,--wrap=_cmocka_run_group_tests

define unit
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) $(UNIT_WRAP) $(WRAP:%=-Wl$(comma)--wrap=%) -rdynamic -o $@ $(filter %.o,$^) $(filter %.a,$^) \
		-lcmocka $(UNIT_LIBS) -lelf -lz -lgcc_s -ldl -pthread
endef

# cmocka 2 calls assert_in_range deprecated; cmocka 1 has no other name for it.
$(BUILD)/obj/tests/%.o: EXTRA = -Wno-deprecated-declarations -Itests/lib -Itests/machine/$(ARCH) -DTEST_PYTHON='"$(TEST_PYTHON)"'
$(BUILD)/obj/tests/python/test_lines.o: EXTRA += $(PYTHON_CFLAGS)

# The source of each program is in the folder of the floor that it is about; the rules below say what else is in it.
$(foreach u,$(UNIT_SRC),$(eval $(BUILD)/tests/$(basename $(notdir $(u))): $(call obj,$(u))))

# gorgon-symdump's have all of it but main().
SYMDUMP_UNITS := $(BUILD)/tests/test_symdump $(BUILD)/tests/test_symdump_python
$(SYMDUMP_UNITS): private UNIT_LIBS := -ldw $(JSON_LIBS)
$(SYMDUMP_UNITS): $(BUILD)/tests/%: $(call obj,$(filter-out %/main.c,$(SYMDUMP_SRC)))
	$(unit)

# The corpus of each fuzz target: gorgon-symdump's readers, and the libraries'.
FUZZ_SYMDUMP := core library python
FUZZ := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FUZZ_LIBRARIES := $(filter-out $(FUZZ_SYMDUMP),$(FUZZ))
UNITS += $(FUZZ:%=$(BUILD)/tests/test_fuzz_%)
$(FUZZ:%=$(BUILD)/tests/test_fuzz_%): $(BUILD)/tests/test_fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o \
	$(BUILD)/obj/tests/fuzz/fuzz.o $(BUILD)/obj/tests/fuzz/replay.o
$(FUZZ_SYMDUMP:%=$(BUILD)/tests/test_fuzz_%): private UNIT_LIBS := -ldw $(JSON_LIBS)
$(FUZZ_SYMDUMP:%=$(BUILD)/tests/test_fuzz_%): $(call obj,$(filter-out %/main.c,$(SYMDUMP_SRC)))
	$(unit)
FUZZ_WRAP := gorgon_init_run gorgon_fini_run
$(BUILD)/tests/test_fuzz_load: private WRAP := $(FUZZ_WRAP)

$(UNITS): $(call obj,tests/lib/cases.c)

# The same with libFuzzer, which is clang's; NULL + 0, which its check of pointers reports, is good.
FUZZERS := $(FUZZ:%=$(BUILD)/fuzz/fuzz_%)
FUZZ_SOURCES := tests/fuzz/fuzz.c tests/fuzz/mutate.c
define fuzzer
	@mkdir -p $(@D)
	@$(if $(Q),echo "  CLANG   $@")
	$(Q)$(CLANG) -std=gnu11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-fno-omit-frame-pointer $(INCLUDES) -Itests/machine/$(ARCH) $(JSON_CFLAGS) -DGORGON_VERSION='"$(VERSION)"' -o $@ $(filter-out %/main.c,$(filter %.c %.a,$^)) $(1)
endef
$(FUZZ_SYMDUMP:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_SOURCES) tests/fuzz/fuzz.h \
		tests/symdump/symfile.h $(SYMDUMP_SRC) $(wildcard tools/symdump/*.h)
	$(call fuzzer,-ldw -lelf $(JSON_LIBS))
$(FUZZ_LIBRARIES:%=$(BUILD)/fuzz/fuzz_%): $(BUILD)/fuzz/%: tests/fuzz/%.c $(FUZZ_SOURCES) tests/fuzz/fuzz.h \
		$(BUILD)/fuzz/lib/libgorgon.a $(BUILD)/fuzz/lib/libjitreg.a
	$(call fuzzer,$(if $(findstring fuzz_load,$@),$(FUZZ_WRAP:%=-Wl$(comma)--wrap=%)) -lelf -lz -lgcc_s -ldl -pthread)
$(BUILD)/fuzz/lib/libgorgon.a: $(GORGON_SRC) $(GORGON_ASM) $(JITREG_SRC)
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/fuzz/lib CC=$(CLANG) CI= SAN=address,undefined \
		CFLAGS='-O1 -g -fsanitize=fuzzer-no-link -fno-sanitize=pointer-overflow' $(BUILD)/fuzz/lib/libgorgon.a $(BUILD)/fuzz/lib/libjitreg.a
$(BUILD)/fuzz/lib/libjitreg.a: $(BUILD)/fuzz/lib/libgorgon.a

# libjitreg's own units link nothing of the loader. libdw reads what frames.c writes.
$(BUILD)/tests/test_jitreg_frames $(BUILD)/tests/test_jitreg_lines $(BUILD)/tests/test_jitreg_merge: private UNIT_LIBS := -ldw
$(filter $(BUILD)/tests/test_jitreg_%,$(UNITS)): $(call obj,$(JITREG_UNIT_LIB_SRC)) $(BUILD)/libjitreg.a
	$(unit)

$(filter $(BUILD)/tests/test_compare_%,$(UNITS)): $(call obj,tests/compare/compare.c)
$(filter $(BUILD)/tests/test_record_locks%,$(UNITS)): $(call obj,tests/process/lockers.c)

$(BUILD)/tests/%: $(call obj,$(UNIT_LIB_SRC)) $(BUILD)/libgorgon.a $(BUILD)/libjitreg.a
	$(unit)

# Calls that go through the test program, so that the n-th can be made to fail, or to take longer.
$(BUILD)/tests/test_debug_mode: private WRAP := jitreg_packing_build jitreg_library_lines_find jitreg_library_lines_keep gorgon_now
$(BUILD)/tests/test_jitreg_damage: private WRAP := malloc calloc realloc reallocarray strdup mmap mprotect \
	memfd_create pread open
$(BUILD)/tests/test_jitreg_group_damage: private WRAP := malloc calloc realloc reallocarray strdup mmap mprotect \
	memfd_create pread write flock link mkostemps open_memstream
$(BUILD)/tests/test_jitreg_folder: private WRAP := open flock link
$(BUILD)/tests/test_files: private WRAP := sendmsg
# What fails in test_failures; tests/python/failing.c has a function for each.
$(BUILD)/tests/test_failures: private WRAP := asprintf open openat gorgon_now \
	$(shell sed -n 's/^WRAP.[A-Z]*, \([a-z0-9_]*\),.*/\1/p' tests/python/failing.c)
$(BUILD)/tests/test_failures: private UNIT_LIBS := -ldw
$(BUILD)/tests/test_failures: $(call obj,tests/python/failing.c)

# Objects that the tests load; see tests/modules/README.md.
include tests/modules/modules.mk
include tests/parity/parity.mk

# Hosts in C and C++; see examples/README.md.
EXAMPLE_NAMES := python_api symbol_provider custom_library pool session metrics
EXAMPLES := $(EXAMPLE_NAMES:%=$(BUILD)/examples/%) $(EXAMPLE_NAMES:%=$(BUILD)/examples/%_cc) \
	$(BUILD)/examples/librunner.so $(BUILD)/examples/librunner_cc.so $(BUILD)/examples/plugins_cc $(BUILD)/examples/shop_cc $(BUILD)/examples/faulty \
	$(BUILD)/examples/customers
EXAMPLE_HEADERS := $(PUBLIC_HEADERS) loader/gorgon.hpp examples/runner.h
EXAMPLE_FLAGS = -Wall -Wextra $(if $(CI),-Werror) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)

examples: $(EXAMPLES)

# $(1) compiler, $(2) libraries.
define example
	@mkdir -p $(@D)
	@$(if $(Q),echo "  LD      $@")
	$(Q)$(1) $(EXAMPLE_FLAGS) -o $@ $(filter %.c %.cc,$^) $(2)
endef

$(BUILD)/examples/librunner.so: examples/runner.c $(EXAMPLE_HEADERS)
	$(call example,$(CC) -shared -fPIC,$(PYTHON_CFLAGS))

$(BUILD)/examples/librunner_cc.so: examples/runner.cc $(EXAMPLE_HEADERS)
	$(call example,$(CXX) -std=c++17 -shared -fPIC,$(PYTHON_CFLAGS))

$(BUILD)/examples/%_cc: examples/%.cc $(EXAMPLE_HEADERS) $(LIBGORGON)
	$(call example,$(CXX) -std=c++17 -Iloader $(SANFLAGS),$(LINK_GORGON))

$(BUILD)/examples/%: examples/%.c $(EXAMPLE_HEADERS) $(LIBGORGON)
	$(call example,$(CC) -Iloader $(SANFLAGS),$(LINK_GORGON))

$(BUILD)/xstate.so: tests/xstate.c
	$(Q)$(CC) $(WARN) -O2 -fPIC -shared -o $@ $<

MODULES += $(BUILD)/xstate.so

# PYTEST_ADDOPTS takes pytest's own options: --lf, -k WORDS, --junitxml=FILE, -x.
# WORKERS run at once when all cases of a kind run; WORKERS=0 runs one case after the other. There are more of them than processors:
# a third of the time a case waits, and a debugger and its program take turns.
WORKERS ?= $(shell expr $$(nproc) \* 3 / 2)
PYTEST = BUILD=$(abspath $(BUILD)) SAN=$(SAN) $(PYTHON3) -B -m pytest -o cache_dir=$(abspath $(BUILD))/pytest \
	$(if $(TESTS),,-n $(WORKERS) --dist loadscope)

check:
	@tools/setup.sh $(DEPS) check
	+@$(MAKE) --no-print-directory $(ALL_PROCESSORS) check-all

check-all: all $(UNITS) $(MODULES) $(PARITY) $(EXAMPLES) venv
	@$(PYTEST) --select '$(TESTS)'

# check-unit with TESTS builds and lists only the programs in whose names or sources one of the words is; see tests/conftest.py.
UNIT_OF = $(BUILD)/tests/test_$(patsubst test_%,%,$(basename $(notdir $(1))))
CHOSEN_UNITS = $(foreach u,$(shell printf '%s\n' $(UNIT_SRC) $(FUZZ:%=tests/fuzz/fuzz_%.c) | $(PYTHON3) tests/chosen.py $(TESTS)),$(call UNIT_OF,$(u)))
check-unit: $(if $(TESTS),$(CHOSEN_UNITS) $(MODULES) $(PRODUCTS) $(CHILDREN),all $(UNITS) $(MODULES)) venv
check-run check-jitreg check-symdump check-gdb check-lldb check-parity: all $(UNITS) $(MODULES) $(PARITY) $(EXAMPLES) venv
check-unit check-run check-jitreg check-symdump check-gdb check-lldb check-parity:
	@$(PYTEST) --select '$(@:check-%=%) $(TESTS)'

# What units and the command's tests run of the code, in a build of its own. TESTS as for check.
coverage: WRITTEN = $(abspath $(BUILD))/coverage/coverage.o
coverage:
	@mkdir -p $(dir $(WRITTEN))
	$(Q)$(CC) -O2 -fPIC -c -o $(WRITTEN) tests/coverage.c
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CFLAGS='-O0 -g --coverage' \
		LDFLAGS='$(LDFLAGS) --coverage -Wl,--wrap=_exit,--wrap=abort $(WRITTEN)' coverage-run

# These run none of the code, or build it anew.
UNCOUNTED := analyze architecture case_studies cpython_pools documents documents_errors documents_reference documents_stability install \
	machines manual process_inventory readers results runner
coverage-run: all $(UNITS) $(MODULES) $(PARITY) $(EXAMPLES) venv
	@find $(BUILD)/obj -name '*.gcda' -delete
	-@$(PYTEST) --select '$(or $(TESTS),unit run)' $(UNCOUNTED:%=--ignore=tests/run/test_%.py)
	@$(PYTHON3) tools/coverage.py $(BUILD)

# The whole table, an hour; TESTS as tests/parity/parity.py takes them.
parity: all $(PARITY) $(BUILD)/xstate.so
	BUILD=$(abspath $(BUILD)) $(PYTHON3) tests/parity/parity.py --write $(TESTS)
	BUILD=$(abspath $(BUILD)) $(PYTHON3) tests/parity/parity.py --write --no-home $(TESTS)

# Benchmarks; JSON=1 for figures to work with.
# TESTS=load REPORT=tests/bench/LOAD writes LOAD.md, LOAD-lives.svg and LOAD-growth.svg; TESTS=executor
# REPORT=tests/bench/EXECUTOR writes EXECUTOR.md; REPORT=tests/bench/MEMORY, of TESTS=memory, MEMORY.md;
# REPORT=tests/bench/TEMPLATES, of TESTS=templates, TEMPLATES.md; REPORT=tests/bench/CLUSTER, of TESTS=cluster, CLUSTER.md.
BENCH_LOADER := $(BUILD)/bench/listing $(BUILD)/bench/registering $(BUILD)/bench/loading $(BUILD)/bench/lives $(BUILD)/bench/interrupts
BENCH_PYTHON := $(BUILD)/bench/ordinary $(BUILD)/bench/peers $(BUILD)/bench/linked
bench: $(BUILD)/bench/throws $(BENCH_LOADER) $(BUILD)/bench/peers $(BUILD)/bench/linked $(BUILD)/bench/libthrow.so $(BUILD)/bench/libcalls.so $(PRODUCTS)
	@BUILD=$(abspath $(BUILD)) XDG_CACHE_HOME=$(abspath $(BUILD))/cache $(PYTHON3) tests/bench/run.py $(if $(JSON),--json) \
		$(REPORT:%=--report %) $(TESTS)

# What debuggers pay: minutes, and gigabytes at 100. COUNTS=1,10 for less, TESTS='lldb attach' for a part;
# REPORT=tests/bench/DEBUG writes DEBUG.md and DEBUG.svg; FEEL.md is of TESTS=feel REPORT=tests/bench/FEEL.
bench-debug: all $(BUILD)/bench/ordinary
	@BUILD=$(abspath $(BUILD)) XDG_CACHE_HOME=$(abspath $(BUILD))/cache $(PYTHON3) tests/bench/debug.py $(if $(JSON),--json) $(COUNTS:%=--counts %) \
		$(REPORT:%=--report %) $(TESTS)

# What gdb pays for breakpoints in extensions in C++; REPORT=tests/bench/EXTENSIONS writes EXTENSIONS.md.
BENCH_EXTENSIONS := $(patsubst %,$(BUILD)/bench/extensions/%.so,first second third)
bench-extensions: all $(BUILD)/bench/ordinary $(BENCH_EXTENSIONS)
	@BUILD=$(abspath $(BUILD)) XDG_CACHE_HOME=$(abspath $(BUILD))/cache $(PYTHON3) tests/bench/extensions.py $(if $(JSON),--json) \
		$(ROUNDS:%=--rounds %) $(REPORT:%=--report %)

# Each is compiled of a copy, so that a breakpoint by file and line is in one of them.
$(BENCH_EXTENSIONS): $(BUILD)/bench/extensions/%.so: tests/bench/extensions.cc
	@mkdir -p $(@D)
	@cp $< $(@:.so=.cc)
	$(Q)$(CXX) -std=c++17 -O0 -g -fPIC -fvisibility=hidden -shared -DMODULE=$* $(PYTHON_CFLAGS) -o $@ $(@:.so=.cc)

$(BUILD)/obj/tests/bench/ordinary.o $(BUILD)/obj/tests/bench/peers.o $(BUILD)/obj/tests/bench/linked.o: EXTRA = $(PYTHON_CFLAGS)
$(BENCH_PYTHON): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $< $(PYTHON_LIBS) -pthread

$(BUILD)/bench/throws: $(BUILD)/obj/tests/bench/throws.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -o $@ $< -ldl -pthread

$(BENCH_LOADER): $(BUILD)/bench/%: $(BUILD)/obj/tests/bench/%.o $(BUILD)/libgorgon.a $(BUILD)/libjitreg.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $@ $^ -lelf -lz -lgcc_s -ldl -pthread

# As few mappings as can be: a thousand copies stay below vm.max_map_count.
$(BUILD)/bench/libthrow.so: $(MOD_SRC)/throw.cc $(MOD_SRC)/throw.h
	$(MOD_CXX) $< -Wl,-z,noseparate-code -Wl,-z,norelro

# The compiler shall not know what malloc() does.
$(BUILD)/bench/libcalls.so: tests/bench/calls.c
	@mkdir -p $(@D)
	$(Q)$(CC) -O2 -fno-builtin -shared -fPIC -o $@ $< -pthread

# Hours instead of minutes; writes tests/long/RESULTS.md, which is committed.
check-long:
	@tools/setup.sh $(DEPS) long
	+@$(MAKE) --no-print-directory check-long-all

# The same in Debian 13 and sid, each in a root of its own: gigabytes, and the rights of root.
check-roots:
	+@$(MAKE) --no-print-directory check-long TESTS=roots

# What the tests need for a machine that cannot run them.
built-for-tests: all $(UNITS) $(MODULES) $(PARITY) $(EXAMPLES)

# The same on aarch64, under QEMU, in a root of its own; ROOT=DIR is one that is there.
check-arm:
	@tools/setup.sh $(DEPS) arm
	@ROOT=$(ROOT) $(PYTHON3) tests/long/run.py arm arm_debug arm_demo

demo-arm:
	@tools/setup.sh $(DEPS) arm
	@ROOT=$(ROOT) $(PYTHON3) tests/long/arm_demo.py

fuzzers: $(FUZZERS)

# Interpreters come and go for MINUTES while gdb, lldb and gorgon-symdump do.
soak: all
	@BUILD=$(abspath $(BUILD)) MINUTES=$(or $(MINUTES),60) $(PYTHON3) tests/long/watched.py

# One after the other, MINUTES each; TARGETS='load rewrite' for some.
fuzz: fuzzers $(BUILD)/differ
	@BUILD=$(abspath $(BUILD)) MINUTES=$(or $(MINUTES),5) TARGETS='$(TARGETS)' $(PYTHON3) tests/long/fuzz.py

check-long-all: all $(UNITS) $(MODULES) $(PARITY) $(FUZZERS) venv
	@BUILD=$(abspath $(BUILD)) SAN=$(SAN) $(PYTHON3) tests/long/run.py $(TESTS)

# Wheels come into a virtual environment, from a pinned list.
venv: build/venv/.done
build/venv/.done: tests/requirements.txt
	@echo "  VENV    build/venv"
	$(Q)rm -rf build/venv && $(PYTHON3) -m venv build/venv
	$(Q)build/venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r tests/requirements.txt
	$(Q)touch $@

# The Python package for pip, with libelf inside; it needs the network once, for auditwheel. The tag names the oldest C library
# on which it has been tried, Debian 12's. What is built on another machine may need functions of a newer one: auto takes the
# oldest C library that has all of them.
WHEEL_TAG ?= $(if $(filter 2.36,$(lastword $(shell getconf GNU_LIBC_VERSION))),manylinux_2_36_$(ARCH),auto)
WHEEL := $(abspath $(BUILD))/wheel
# Folders of another machine's libraries, for a wheel that the cross compiler has made.
WHEEL_LIBRARIES ?=
wheel: $(LIBGORGON) $(WHEEL)/tools/.done
	@echo "  WHEEL   $(BUILD)/wheel"
	$(Q)rm -rf $(WHEEL)/plain $(WHEEL)/*.whl
	$(Q)GORGON_BUILD=$(abspath $(BUILD)) $(WHEEL)/tools/bin/python -m pip wheel --quiet --disable-pip-version-check --no-build-isolation \
		--no-deps -w $(WHEEL)/plain ./python
	$(Q)PATH="$(WHEEL)/tools/bin:$$PATH" auditwheel repair --strip --only-plat --plat $(WHEEL_TAG) $(if $(WHEEL_LIBRARIES),--ldpaths $(WHEEL_LIBRARIES)) -w $(WHEEL) \
		$(WHEEL)/plain/*.whl >$(WHEEL)/log 2>&1 || { cat $(WHEEL)/log >&2; exit 1; }
	@ls $(WHEEL)/*.whl

$(WHEEL)/tools/.done: python/requirements-wheel.txt
	@echo "  VENV    $(@D)"
	$(Q)rm -rf $(@D) && $(PYTHON3) -m venv $(@D)
	$(Q)$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	$(Q)touch $@

# On all processors, unless make was told how many.
ALL_PROCESSORS = $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc))
demo:
	@tools/setup.sh $(DEPS) demo
	+@$(MAKE) --no-print-directory $(ALL_PROCESSORS) all
	@BUILD=$(abspath $(BUILD)) tools/demo.sh

setup:
	@tools/setup.sh $(DEPS) build

# ---- housekeeping ---------------------------------------------------------------

format:
	git clang-format-$(patsubst clang-%,%,$(CLANG)) --binary clang-format-$(patsubst clang-%,%,$(CLANG)) --extensions c,h $(SINCE)

# clang-format looks at lines that differ from SINCE only: older ones were formatted by hand. For faults in C there is analyze.
SINCE ?= HEAD
lint: build/lint/.done
	@tools/setup.sh $(DEPS) lint
	build/lint/bin/ruff check --quiet .
	git clang-format-$(patsubst clang-%,%,$(CLANG)) --binary clang-format-$(patsubst clang-%,%,$(CLANG)) --diff --quiet --extensions c,h $(SINCE)

build/lint/.done: tools/requirements-lint.txt
	@echo "  VENV    $(@D)"
	$(Q)rm -rf $(@D) && $(PYTHON3) -m venv $(@D)
	$(Q)$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r $<
	$(Q)touch $@

ANALYZE_FLAGS = $(filter-out -MMD -MP,$(BASE)) $(INCLUDES) $(PYTHON_CFLAGS) $(JSON_CFLAGS) \
	-DGORGON_VERSION=\"$(VERSION)\" -DGORGON_DATADIR=\"$(DATADIR)/gorgon\"
# gcc's analyzer, and clang-tidy where CLANG_TIDY names it; tools/analyze.txt has the reasons for what they may find.
analyze:
	@tools/setup.sh $(DEPS) $(if $(CLANG_TIDY),analyze,check)
	@$(PYTHON3) tools/analyze.py -- '$(CC)' '$(CLANG_TIDY)' '$(ANALYZE_FLAGS)' $(JITREG_SRC) $(GORGON_SRC) $(TOOL_SRC) $(SYMDUMP_SRC)

compile_commands.json:
	$(PYTHON3) tools/compile_commands.py '$(CC) $(BASE) $(INCLUDES) $(CFLAGS)' $(JITREG_SRC) $(GORGON_SRC) $(TOOL_SRC) $(SYMDUMP_SRC) $(UNIT_SRC) > $@

# Headers lie in a folder of their own, which pkg-config and CMake name: <gorgon.h>; so <gorgon/gorgon.h> is found without them.
HEADERDIR := $(INCLUDEDIR)/gorgon
# What pkg-config and CMake are told.
installed = sed 's|@PREFIX@|$(PREFIX)|;s|@LIBDIR@|$(LIBDIR)|;s|@INCLUDEDIR@|$(INCLUDEDIR)|;s|@VERSION@|$(VERSION)|;s|@SOVERSION@|$(SOVERSION)|;s|@HEADERS@|$(shell realpath -m --relative-to=$(CMAKEDIR) $(HEADERDIR))|'

# $(1) header files, $(2) library.
define install_library
	install -d $(DESTDIR)$(LIBDIR)/pkgconfig $(DESTDIR)$(HEADERDIR)
	install -m 644 $(1) $(DESTDIR)$(HEADERDIR)
	install -m 644 $(BUILD)/$(2).a $(DESTDIR)$(LIBDIR)
	install -m 755 $(BUILD)/$(2).so.$(SOVERSION) $(DESTDIR)$(LIBDIR)
	ln -sf $(2).so.$(SOVERSION) $(DESTDIR)$(LIBDIR)/$(2).so
	$(installed) $(wildcard */$(2).pc.in) > $(DESTDIR)$(LIBDIR)/pkgconfig/$(2).pc
endef

CMAKEDIR := $(LIBDIR)/cmake/Gorgon

install-jitreg: jitreg
	$(call install_library,jitreg/jitreg.h,libjitreg)

install: products install-jitreg
	$(call install_library,loader/gorgon.h loader/gorgon.hpp loader/ns/debug_root.h,libgorgon)
	install -d $(DESTDIR)$(HEADERDIR)/gorgon $(DESTDIR)$(CMAKEDIR)
	install -m 644 $(wildcard loader/gorgon/*.h) $(DESTDIR)$(HEADERDIR)/gorgon
	for file in GorgonConfig GorgonConfigVersion; do $(installed) loader/$$file.cmake.in > $(DESTDIR)$(CMAKEDIR)/$$file.cmake; done
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(BUILD)/gorgon $(BUILD)/gorgon-symdump $(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(DATADIR)/man/man1
	install -m 644 $(BUILD)/man/gorgon.1 tools/gorgon-symdump.1 $(DESTDIR)$(DATADIR)/man/man1
	install -D -m 644 tools/completion/gorgon.bash $(DESTDIR)$(DATADIR)/bash-completion/completions/gorgon
	ln -sf gorgon $(DESTDIR)$(DATADIR)/bash-completion/completions/gorgon-symdump
	install -D -m 644 tools/completion/_gorgon $(DESTDIR)$(DATADIR)/zsh/site-functions/_gorgon
	install -D -m 644 tools/completion/gorgon.fish $(DESTDIR)$(DATADIR)/fish/vendor_completions.d/gorgon.fish
	install -d $(DESTDIR)$(DATADIR)/man/man3
	install -m 644 $(BUILD)/man/*.3 $(DESTDIR)$(DATADIR)/man/man3
	install -D -m 644 $(CHILDREN) $(DESTDIR)$(DATADIR)/gorgon/children/gorgon.py
	install -m 644 tools/valgrind.supp $(DESTDIR)$(DATADIR)/gorgon
	@echo "install -D -m 644 (the scripts of gdb and lldb) $(DESTDIR)$(DATADIR)/gorgon"
	@for script in $(SCRIPTS); do \
		install -D -m 644 $$script $(DESTDIR)$(DATADIR)/gorgon/$$script; done
	install -D -m 644 gdb/libgorgon-gdb.py $(DESTDIR)$(GDB_DATADIR)/gdb/auto-load$(LIBDIR)/libgorgon.so.$(SOVERSION)-gdb.py
	$(tell_linker)

# The system's linker finds hosts' libraries by a cache. Only root may write to it, and a staged tree is not in it.
tell_linker = $(if $(DESTDIR),,@[ "$$(id -u)" != 0 ] || PATH=$$PATH:/sbin:/usr/sbin ldconfig)

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/gorgon $(DESTDIR)$(PREFIX)/bin/gorgon-symdump
	rm -f $(DESTDIR)$(DATADIR)/man/man3/gorgon.3 $(DESTDIR)$(DATADIR)/man/man3/gorgon[-_]*.3
	rm -f $(addprefix $(DESTDIR)$(DATADIR)/,man/man1/gorgon.1 man/man1/gorgon-symdump.1 bash-completion/completions/gorgon \
		bash-completion/completions/gorgon-symdump zsh/site-functions/_gorgon fish/vendor_completions.d/gorgon.fish)
	rm -rf $(DESTDIR)$(HEADERDIR) $(DESTDIR)$(CMAKEDIR)
	rm -f $(addprefix $(DESTDIR)$(LIBDIR)/,$(foreach l,libgorgon libjitreg,$(l).a $(l).so $(l).so.$(SOVERSION) pkgconfig/$(l).pc))
	rm -rf $(DESTDIR)$(DATADIR)/gorgon $(DESTDIR)$(GDB_DATADIR)/gdb/auto-load$(LIBDIR)/libgorgon.so.$(SOVERSION)-gdb.py
	-@rmdir -p $(DESTDIR)$(GDB_DATADIR)/gdb/auto-load$(LIBDIR) 2>/dev/null || true
	@# Folders that were made for these files, and that nobody else uses.
	@for folder in bash-completion/completions bash-completion zsh/site-functions zsh fish/vendor_completions.d fish man/man1 man/man3; do \
		rmdir $(DESTDIR)$(DATADIR)/$$folder 2>/dev/null || true; done
	@rmdir $(DESTDIR)$(dir $(CMAKEDIR)) $(DESTDIR)$(LIBDIR)/pkgconfig 2>/dev/null || true
	$(tell_linker)
	@echo "what interpreters and debuggers have kept for you: rm -rf $${XDG_CACHE_HOME:-~/.cache}/gorgon"

# A tarball of the last commit, with the commit's time in it: two of one commit have the same bytes.
DIST := $(BUILD)/gorgon-$(VERSION).tar.gz
dist:
	@git rev-parse --verify -q HEAD >/dev/null || { echo "dist: this is no clone of the repository: git archive packs a commit" >&2; exit 1; }
	@mkdir -p $(BUILD)
	$(Q)git archive --format=tar --prefix=gorgon-$(VERSION)/ HEAD | gzip -9n > $(DIST)
	@cd $(BUILD) && sha256sum $(notdir $(DIST)) | tee $(notdir $(DIST)).sha256

# All files of a release, which two runs make byte by byte the same.
release:
	@tools/setup.sh $(DEPS) release
	@$(PYTHON3) tools/release.py $(BUILD)/release

clean:
	rm -rf $(BUILD)

help:
	@echo "all      build everything into $(BUILD)"
	@echo "examples hosts in C and C++"
	@echo "demo     set up, build, show: numpy in several interpreters; gdb and lldb in each"
	@echo "check    set up, build, run all tests (TESTS='gdb lldb' for some)"
	@echo "check-unit check-run check-jitreg check-symdump check-gdb check-lldb    one kind of test"
	@echo "check-long  tests that take long (TESTS='forks' for some); writes tests/long/RESULTS.md"
	@echo "check-roots  all tests in Debian 13 and sid, in roots made by debootstrap (as root)"
	@echo "check-arm  unit tests and programs on aarch64, under QEMU, in a root made by debootstrap (as root)"
	@echo "demo-arm  the same as demo on aarch64: gdb-multiarch through QEMU's stub"
	@echo "fuzzers  libFuzzer programs, into $(BUILD)/fuzz (CLANG=$(CLANG))"
	@echo "fuzz     runs each of them for MINUTES=5 (TARGETS='load core' for some)"
	@echo "coverage lines and branches that units and the command's tests run, by floor"
	@echo "soak     interpreters come and go for MINUTES=60 while debuggers do"
	@echo "bench    benchmarks, as ratios (TESTS='throws load' for some, JSON=1 for figures)"
	@echo "bench-debug  what debuggers pay (COUNTS=1,10,100, TESTS='gdb lldb attach start feel', JSON=1)"
	@echo "bench-extensions  what gdb pays for breakpoints in extensions in C++ (ROUNDS=5, JSON=1)"
	@echo "docs-process  loader/process/NAMES.md, out of loader/process and loader/dl/replacements.c"
	@echo "census  tests/process/census.txt: which names of the C library extensions of Python import"
	@echo "docs-api  pages of the C and C++ interfaces, in build/api/html"
	@echo "docs-pictures  docs/gdb.svg, docs/lldb.svg and docs/mixed.svg, of real sessions, and docs/flames.svg"
	@echo "docs-comparison  the figures of docs/comparison.md, out of tests/bench/LOAD.md and EXECUTOR.md"
	@echo "docs-plot  the plots in tests/bench, out of tests/bench/DEBUG.md and FEEL.md"
	@echo "abi      tests/abi, what a release's programs rely on; with each release, see docs/stability.md"
	@echo "wheel    the Python package for pip, into $(BUILD)/wheel"
	@echo "install  DESTDIR= PREFIX=$(PREFIX)    uninstall takes it back"
	@echo "jitreg install-jitreg  libjitreg alone"
	@echo "dist     $(DIST), a tarball of the last commit"
	@echo "release  tarball, wheels, Debian packages, SBOM, notes and checksums of the last commit, into $(BUILD)/release"
	@echo "analyze  what gcc's analyzer finds, unless tools/analyze.txt has a reason (CLANG_TIDY=clang-tidy-19 for its checks, too)"
	@echo "format lint compile_commands.json clean"
	@echo "variables: BUILD SAN RPATH V CC CFLAGS LDFLAGS DEPS=no"

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
