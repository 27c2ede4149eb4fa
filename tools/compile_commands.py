#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Print compile_commands.json for editors and linters.

Usage: compile_commands.py COMMAND FILE..."""

import json
import os
import sys

command, files = sys.argv[1], sys.argv[2:]
rows = [{"directory": os.getcwd(), "file": name, "command": f"{command} -c {name}"} for name in files]
json.dump(rows, sys.stdout, indent=1)
