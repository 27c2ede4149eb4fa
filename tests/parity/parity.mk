# SPDX-License-Identifier: MIT
# What the parity sessions debug: two hosts of one source, three extensions.

PARITY_DIR := $(BUILD)/parity
PARITY := $(PARITY_DIR)/ordinary/host $(PARITY_DIR)/gorgon/host \
	$(PARITY_DIR)/modules/cext.so $(PARITY_DIR)/modules/cxxext.so $(PARITY_DIR)/modules/lateext.so
PARITY_BUILD = @mkdir -p $(@D); $(if $(Q),echo "  LD      $@";) set -e; $(if $(V),set -x;)
# Methods are exported; without the last option gdb stops in the PLT's entries of the same names first, in both hosts, and says
# nothing of arguments there. What that hides: gdb says "from LIBRARY" in stops in code without lines, of shared libraries only.
PARITY_FLAGS := -g -O0 -Wall -Wextra $(if $(CI),-Werror) -Wl,-Bsymbolic-functions

$(PARITY_DIR)/ordinary/host: tests/parity/host.c
	$(PARITY_BUILD) $(CC) $(PARITY_FLAGS) $(PYTHON_CFLAGS) -rdynamic -o $@ $< $(PYTHON_LIBS) -pthread

$(PARITY_DIR)/gorgon/host: tests/parity/host.c $(LIBGORGON)
	$(PARITY_BUILD) $(CC) $(PARITY_FLAGS) -DPARITY_GORGON -Iloader -rdynamic -o $@ $< -L$(BUILD) -lgorgon -ljitreg \
		-Wl,-rpath,'$$ORIGIN/../..' -pthread

$(PARITY_DIR)/modules/%.so: tests/parity/%.c
	$(PARITY_BUILD) $(CC) $(PARITY_FLAGS) -fPIC -shared $(PYTHON_CFLAGS) -o $@ $<

$(PARITY_DIR)/modules/%.so: tests/parity/%.cc
	$(PARITY_BUILD) $(CXX) $(PARITY_FLAGS) -fPIC -shared $(PYTHON_CFLAGS) -o $@ $<
