# SPDX-License-Identifier: MIT
"""What a habit is, and what may differ.

A habit is a few lines that somebody types into a debugger, from turn_sync() of host.c on. Its answers in Gorgon's host are
compared with its answers in the ordinary one, whole, after normal.py has taken out what differs between any two
runs. A difference is allowed where the habit names an excuse: a text is made out of both answers by the excuse,
and those must be the same. Everything else is broken, and has to say so in known.py."""

import re
import textwrap
from dataclasses import dataclass, field

BREAK, DATA, CODE, STACK, STEP, PYTHON, PROCESS = ("breakpoints", "data", "code and symbols", "the stack", "stepping and calls",
                                                   "Python", "the process")


@dataclass(frozen=True)
class Habit:
    """@turn: who (-1: the last thread), number and how many turns are `left` ("all": one for each thread). @alone: in a
    session of its own. @attach: to a host that runs. @fresh: typed into a second session, without a process. @keep: a regular
    expression; only lines in which it is found are compared. @excuses: {name in EXCUSES: kinds of variants}."""
    name: str
    typed: str
    group: str
    turn: dict = field(default_factory=dict)
    alone: bool = False
    attach: bool = False
    fresh: str = ""
    keep: str = ""
    excuses: tuple = ()

    @property
    def lines(self):
        return lines(self.typed)

    @property
    def fresh_lines(self):
        return lines(self.fresh)


def lines(text):
    return [line for line in textwrap.dedent(text).strip("\n").splitlines() if line.strip()]


@dataclass(frozen=True)
class Excuse:
    """Why two answers may differ; @same makes the same text out of both when nothing else does. @both gets both instead: (expected,
    seen). @least: from how many interpreters on. @debugger: how the names of the
    debuggers that it is about begin. @homes: whether there is a folder for names and lines, in each kind that it is about."""
    reason: str
    same: object = None
    kinds: tuple = ("plain", "scripts")
    both: object = None
    least: int = 1
    debugger: str = ""
    homes: tuple = (True, False)

    def applies(self, debugger, variant):
        return (debugger.startswith(self.debugger) and variant.kind in self.kinds and variant.count >= self.least and
                variant.home in self.homes)

    def of(self, expected, seen):
        return self.both(expected, seen) if self.both else (self.same(expected), self.same(seen))


def without(pattern):
    """Leaves out what is found."""
    return lambda text: re.sub(pattern, "", text, flags=re.M)


def instead(pattern, word):
    return lambda text: re.sub(pattern, word, text, flags=re.M)


ALL = {"who": 0, "left": "all"}
