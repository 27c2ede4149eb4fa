#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the manual page of the command: a section for each subcommand, of what its --help prints.

Usage: manual_command.py TEMPLATE PAGE FILE.c...

A FILE.c has a subcommand's options and texts as argp(3) takes them. The sections stand where the TEMPLATE has a line
'.\\" commands'."""

import ast
import os
import re
import sys

import manual

TEXT = r'(?:"(?:[^"\\]|\\.)*"\s*)+'
OPTION = re.compile(rf"\{{(NULL|{TEXT}), (OPT_\w+|'.'|0), (NULL|{TEXT}), 0,\s*({TEXT}),\s*\d+\}}")


def text_of(literal):
    return ast.literal_eval(f"({literal})")


def escape(text):
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fP", manual.escape(text))


def entry(name, key, argument, text):
    if key == "0":
        return f".PP\n{escape(text_of(text))}"
    names = [f"\\-{key[1]}"] if key[0] == "'" else []
    if name != "NULL":
        names.append("\\-\\-" + escape(text_of(name)))
    words = [names[0], *(word for name in names[1:] for word in (", ", name))]
    if argument != "NULL":
        words.append(f" \\fI{escape(text_of(argument))}\\fR")
    return ".TP\n.BR " + " ".join(f'"{word}"' for word in words) + f"\n{escape(text_of(text))}"


def section(path):
    with open(path) as file:
        source = file.read()
    name = os.path.basename(path).removesuffix(".c")
    given = {field: text_of(text) for field, text in re.findall(rf"\.(args_doc|doc) =\s*({TEXT})", source)}
    before, _, after = given["doc"].partition("\v")
    usage = [f".B gorgon {name}\n[OPTION]... {escape(form)}" for form in given.get("args_doc", "").split("\n")]
    options = [entry(*found.groups()) for found in OPTION.finditer(source)]
    rest = [f".PP\n.nf\n{escape(part)}\n.fi" if "\n" in part else f".PP\n{escape(part)}" for part in after.split("\n\n") if part]
    return "\n".join([f".SH GORGON {name.upper()}", "\n.br\n".join(usage), ".PP\n" + escape(before), *options, *rest])


def main(template, page, *files):
    with open(template) as file:
        text = file.read()
    with open(page, "w") as file:
        file.write(text.replace('.\\" commands', "\n".join(map(section, files))))


if __name__ == "__main__":
    main(*sys.argv[1:])
