#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make the manual pages of libgorgon out of its headers.

Usage: manual.py HEADER VERSION FOLDER

HEADER includes the others. FOLDER gets gorgon.3, which is HEADER's first comment; gorgon-TOPIC.3 for each line
"/* ---- TOPIC: SUMMARY ---- */" of a header, with the declarations behind that line; and for each
function a file that refers to the function's page."""

import os
import re
import sys

TOPIC = re.compile(r"^/\* ---- (\w+): (.+?) -+ \*/$", re.M)
# A comment, a definition without arguments, or a declaration to its end.
ITEM = re.compile(r"/\*(?P<doc>\*?)(?P<comment>.*?)\*/|#define (?P<macro>\w+) (?P<value>(?:[^\n\\]|\\\n|\\.)*)|"
                  r"(?P<declaration>(?:GORGON_API|enum|struct)\b(?:/\*.*?\*/|\{.*?^\}|[^;{])*?;)", re.S | re.M)
FUNCTION = re.compile(r"\b(gorgon_\w+)\(")


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def prose(text):
    """A comment's text without the marks of a comment, in lines of troff."""
    text = "\n".join(re.sub(r"^\s*\*? ?", "", line) for line in text.strip().splitlines())
    text = escape(text.replace("@file\n", ""))
    text = re.sub(r"@[cp] (\w+(?:\.\w+)*)", r"\\fI\1\\fP", text)
    text = re.sub(r"(?<!\S)\*(\w+)\*", r"\\fI\1\\fP", text)
    text = re.sub(r"`([^`\n]+)`", r"\\fB\1\\fP", text)
    text = re.sub(r"@param(?:\[out\])?\s+([\w,]+)\s+", r"\n.TP\n.I \1\n", text)
    text = re.sub(r"@return (and )?", r"\n.TP\n.B Returns\n", text)
    text = re.sub(r"^\s*(GORGON_ERROR_\w+)(?:  +|$)", r".br\n.B \1\n", text, flags=re.M)
    text = re.sub(r"\n\s*(Since \d)", r"\n.PP\n\1", text)
    text = re.sub(r"^\\- (?=\w)", r".PP\n", text, flags=re.M)
    text = re.sub(r"\n[ \t]*\n+(?!\.)", "\n.PP\n", text)
    return re.sub(r"\n[ \t]*(?=\n)|^[ \t]+", "", text, flags=re.M).strip("\n")


def code(text):
    return ".PP\n.nf\n" + escape(text) + "\n.fi"


def plain(declaration):
    """A declaration without attributes for the compiler, and with ordinary comments."""
    text = re.sub(r"/\*\*<?", "/*", declaration.expandtabs(8)).replace("@c ", "")
    attributes = re.match(r"(?:GORGON_API |GORGON_MUST_CHECK )*", text)[0]
    text = text[len(attributes):]
    if "\n" in attributes or re.match(r"struct gorgon_error \*\n", text):
        return text
    return text.replace("\n" + " " * len(attributes), "\n")  # further lines move to the left by as much


def header(name, summary, version):
    return (f'.TH {name.upper()} 3 "" "Gorgon {version}" "Library Functions Manual"\n.SH NAME\n'
            f"{escape(name)} \\- {escape(summary)}\n")


def page(name, summary, body, version):
    """(text of the page, its functions)."""
    synopsis, description, waiting, functions = [], [], None, []
    for item in ITEM.finditer(body):
        if item["comment"] is not None:
            if item["doc"]:
                waiting = prose(item["comment"])
            else:
                description.append(".PP\n" + prose(item["comment"]))
            continue
        if item["macro"]:
            value = re.sub(r"[ \t]*\\\n\s*", " ", item["value"]).strip()
            what, text = item["macro"], f"#define {item['macro']} {value}"
        else:
            text = plain(item["declaration"])
            function = FUNCTION.search(re.sub(r"\{.*\}|/\*.*?\*/", "", text, flags=re.S))
            what = function[1] if function else " ".join(text.split()[:2])
            if function:
                functions.append(what)
                synopsis.append(text)
        if waiting is not None:
            description += [f".SS {escape(what)}", code(text), ".PP\n" + waiting]
        waiting = None
    lines = [header(name, summary, version) + ".SH SYNOPSIS\n.B #include <gorgon.h>", *map(code, synopsis),
             ".SH DESCRIPTION", *description, ".SH SEE ALSO\n.BR gorgon (3)"]
    return "\n".join(lines) + "\n", functions


def pages(source, version):
    """{name of a page: (text, functions)}, gorgon first."""
    parts = TOPIC.split(source)
    topics = list(zip(parts[1::3], parts[2::3], parts[3::3]))
    first = re.search(r"/\*\*.*?\*/", parts[0], re.S)
    text, functions = page("gorgon", "many private copies of CPython in one process", parts[0][first.end():], version)
    rules = prose(first[0][3:-2])
    see = ",\n".join(f".BR \\%gorgon\\-{topic} (3)" for topic, _, _ in topics)
    text = text.replace(".SH DESCRIPTION", f".SH DESCRIPTION\n{rules}", 1)
    text = text[:text.index(".SH SEE ALSO")] + f".SH SEE ALSO\n{see},\n.BR \\%gorgon\\-symdump (1)\n"
    return {"gorgon": (text, functions),
            **{f"gorgon-{topic}": page(f"gorgon-{topic}", summary, body, version) for topic, summary, body in topics}}


def read(path):
    """The text of a header and of the headers that it includes, without include guards and the like."""
    with open(path) as file:
        text = file.read()
    folder = os.path.dirname(path)
    for name in re.findall(r'^#include "(.+)"$', text, re.M):
        with open(os.path.join(folder, name)) as file:
            part = re.sub(r"\A(?:/\*(?!\*(?! @file)).*?\*/\s*)*", "", file.read(), flags=re.S)  # the license, and what the file is
        part = re.sub(r"/\*\*[^*]*\*/\nstatic inline .*?^\}\n", "", part, flags=re.S | re.M)  # values.h explains itself
        text += re.sub(r"^#(?!define GORGON_\w+ ).*\n|^extern \"C\" \{\n|^\}\n", "", part, flags=re.M)
    return text


def main(path, version, folder):
    source = read(path)
    os.makedirs(folder, exist_ok=True)
    for name, (text, functions) in pages(source, version).items():
        with open(f"{folder}/{name}.3", "w") as file:
            file.write(text)
        for function in functions:
            with open(f"{folder}/{function}.3", "w") as file:
                file.write(f".so man3/{name}.3\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
