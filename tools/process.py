#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make loader/process/NAMES.md: which state of the process each interpreter has for itself, and which it shares.

Usage: process.py INVENTORY PAGE

INVENTORY is the program that tells which names private code gets from us (tests/hosts/inventory.c). What is decided about
all other names, and the page's prose, are in loader/process/inventory.txt, which explains its own format."""

import fnmatch
import itertools
import json
import os
import re
import subprocess
import sys

FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "loader", "process")
SOURCES = [os.path.join(FOLDER, "inventory.txt")]
# What a group may say, and what the page calls it.
DECISIONS = {"own": "own", "ordered": "ordered", "apart": "own, by thread or object", "shared": "shared",
             "stateless": "no state"}
OURS = ("own", "ordered")  # of names that private code gets from us
BOUND = "@bound"
NAME = re.compile(r"[A-Za-z_*][\w*]*(?:@\d+\.\d+)?$|@lib[\w.]+$")


class Malformed(Exception):
    """The source breaks its own format."""


class Group:
    """One decision on several names, with what a program sees."""

    def __init__(self, decision, text):
        self.decision, self.text, self.names = decision, text, []
        self.since = {}  # {name: version of the C library that brought it}

    def add(self, names):
        for name in names:
            if not NAME.match(name):
                raise Malformed(f"'{name}' is no name")
            name, _, since = name.partition("@") if not name.startswith("@") else (name, "", "")
            self.names.append(name)
            if since:
                self.since[name] = since

    def covers(self, name, library=None):
        """Whether a pattern of the group, or a whole library (@libfoo), stands for @name. A plain name is no pattern."""
        return any("*" in pattern and fnmatch.fnmatchcase(name, pattern) or
                   pattern.startswith("@") and pattern[1:] == library for pattern in self.names)


def read(paths=SOURCES):
    """[(title, [paragraph or Group or BOUND])] of the sources; the first title is the page's."""
    topics = []
    for path in paths:
        with open(path) as file:
            for number, line in enumerate(file, 1):
                try:
                    take(topics, line.rstrip())
                except Malformed as err:
                    raise Malformed(f"{path}:{number}: {err}") from None
    for title, parts in topics:
        for group in parts:
            if isinstance(group, Group) and not (group.names and group.text):
                raise Malformed(f"{title}: a group without {'text' if group.names else 'names'}")
    return topics


def take(topics, line):
    parts = topics[-1][1] if topics else None
    opening = re.match(r"(\w+): (.+)", line)
    if line.startswith("#") or parts is None and not line:
        return
    if line.startswith("== "):
        topics.append((line[3:], []))
    elif parts is None:
        raise Malformed("nothing stands before the first title")
    elif line.startswith("\t"):
        if not parts or not isinstance(parts[-1], Group):
            raise Malformed("an indented line belongs to no group")
        if line.startswith("\t: "):
            parts[-1].add(line[3:].split())
        else:
            parts[-1].text += " " + line.strip()
    elif opening and opening[1] in DECISIONS:
        parts.append(Group(opening[1], opening[2]))
    elif line == BOUND:
        parts.append(BOUND)
    elif not line:
        if parts and isinstance(parts[-1], str):
            parts.append("")  # the next line begins a paragraph
    elif parts and isinstance(parts[-1], str) and parts[-1] not in ("", BOUND):
        parts[-1] += "\n" + line
    else:
        parts.append(line)


def groups(topics):
    return [group for _, parts in topics for group in parts if isinstance(group, Group)]


def bound(program):
    """What private code gets from us: [{name, decision, reason, part, title}]."""
    return json.loads(subprocess.run([program], check=True, capture_output=True, text=True).stdout)


def told_with(entry, by_name):
    """The entry whose reason holds for @entry: that of NAME, where the reason is "as NAME"."""
    seen = set()
    while like := re.match(r"as (\w+)(?:;|$)", entry["reason"]):
        seen.add(entry["name"])
        if like[1] not in by_name or like[1] in seen:
            raise Malformed(f"{entry['name']}: its reason is that of {like[1]}, which has none")
        entry = by_name[like[1]]
    return entry


def bound_rows(entries, described):
    """[(title of the part, [names], decision, reason)] of the entries whose names are not in @described. An entry whose
    reason is "as NAME" is in the row of NAME."""
    rows, by_name = {}, {}
    for entry in entries:
        by_name.setdefault(entry["name"], entry)
    for entry in entries:
        if entry["name"] in described:
            continue
        told = told_with(entry, by_name)
        if told["name"] in described:
            told = entry
        key = (entry["part"], entry["decision"], told["reason"])
        names = rows.setdefault(key, (entry["title"], [], entry["decision"], told["reason"]))[1]
        if entry["name"] not in names:
            names.append(entry["name"])
    return list(rows.values())


def table(rows):
    """The table of [(names, decision, text)]; an empty text without rows."""
    rows = list(rows)
    if not rows:
        return ""
    lines = ["| decision | what a program sees | names |", "|---|---|---|"]
    for names, decision, text in rows:
        shown = " ".join(f"`{name}`" if not name.startswith("@") else f"all of `{name[1:]}`" for name in names)
        lines.append(f"| {DECISIONS[decision]} | {sentence(text)} | {shown} |")
    return "\n".join(lines)


def sentence(text):
    """The text as a sentence: with a capital letter, unless it begins with a function's name, and a full stop."""
    text = text[0].upper() + text[1:] if re.match(r"[a-z]+[ ,]", text) else text
    return text.replace("|", "\\|") + ("" if text.endswith(".") else ".")


def bound_tables(rows):
    """A table for each part, under its title."""
    shown = []
    for title in dict.fromkeys(row[0] for row in rows):
        part = table([row[1:] for row in rows if row[0] == title])
        shown.append(f"### {title}\n\n{part}" if title else part)
    return "\n\n".join(shown)


def page(topics, entries):
    described = {name for group in groups(topics) if group.decision in OURS for name in group.names}
    blocks = ["<!-- Made by `make docs-process`, of loader/process/inventory.txt and the tables of loader/process and "
              "loader/dl/replacements.c. -->"]
    for level, (title, parts) in enumerate(topics):
        shown = []
        for is_group, some in itertools.groupby(parts, lambda part: isinstance(part, Group)):
            if is_group:
                shown.append(table(rows_of(some)))
            else:
                shown += [bound_tables(bound_rows(entries, described)) if part == BOUND else part for part in some]
        shown = [block for block in shown if block]
        if shown:
            blocks += [f"{'##' if level else '#'} {title}", *shown]
    return "\n\n".join(blocks) + "\n"


def rows_of(some):
    for group in some:
        yield group.names, group.decision, group.text


def main(program, path):
    text = page(read(), bound(program))
    with open(path, "w") as file:
        file.write(text)


if __name__ == "__main__":
    main(*sys.argv[1:])
