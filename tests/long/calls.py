#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Eight threads that start, call, interrupt, stop and destroy the same four interpreters: build/soak -c.

As soak.py, with its MINUTES and SAN_MINUTES: plain, and with each set of sanitizers."""

import sys

import soak

if __name__ == "__main__":
    sys.exit(soak.main(soak.Mode("Interpreters started, called, interrupted and stopped by eight threads at once", ["-c"],
                                 "soak_calls.py", 1024)))
