#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb on a CPU with AMX, with the library that xstate.c says more of; what gdb starts has it not.
exec env LD_PRELOAD="$XSTATE" gdb -iex "unset environment LD_PRELOAD" "$@"
