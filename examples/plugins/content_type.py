# SPDX-License-Identifier: MIT
"""A plug-in of years ago: it needs a CPython before 3.13, which still has the module cgi."""

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import cgi

about = "content types"


def edit(line):
    kind, options = cgi.parse_header(line)
    return " ".join([kind, *(f"{name}={value}" for name, value in sorted(options.items()))])
