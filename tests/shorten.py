# SPDX-License-Identifier: MIT
"""Why a test has failed, in few lines: sessions with debuggers print thousands, and unittest's messages have them in one.

Such a text gets its lines again. What is left of it is what is around the longest beginning of the pattern that was
expected and is there, or else its own beginning and its end."""

import ast
import re
import time

LINES, WIDTH = 100, 300
SECONDS = 5  # to look for beginnings of a pattern: some that do not match take their time
LITERAL = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
# How unittest's messages name a pattern and the text in which it was looked for.
SOUGHT = re.compile(rf"(?P<sought>{LITERAL}) (?:unexpectedly found in|not found in|matches {LITERAL} in) (?P<text>{LITERAL})", re.S)


def shorten(message):
    """A failure's text in about LINES lines."""
    found = SOUGHT.search(message) if len(message) > WIDTH else None
    if found:
        sought, text = (ast.literal_eval(found[name]) for name in ("sought", "text"))
        offset = found_until(sought if "Regex " in message[:found.start()] else re.escape(sought), text)
        lines = message[:found.start("text")].splitlines() + around(text, offset) + message[found.end():].splitlines()
    else:
        lines = re.sub(LITERAL, unfold, message, flags=re.S).splitlines()
    if len(lines) > LINES:
        lines = [*lines[:LINES // 3], f"[{len(lines) - LINES} lines]", *lines[-(LINES - LINES // 3):]]
    return "\n".join(line if len(line) <= WIDTH else f"{line[:WIDTH - 60]} ... {line[-50:]}" for line in lines)


def unfold(literal):
    """A long literal split into lines; anything else as it is."""
    try:
        value = ast.literal_eval(literal[0]) if len(literal[0]) > 80 else ""
    except (SyntaxError, ValueError):  # quotes of another kind of text
        value = ""
    return "\n  | " + value.rstrip("\n").replace("\n", "\n  | ") + "\n" if value.count("\n") > 1 else literal[0]


def found_until(pattern, text):
    """Where the longest part from the pattern's beginning that matches in the text ends; the text's end when none
    does."""
    late = time.monotonic() + SECONDS
    for end in range(len(pattern), 3, -1):
        try:
            found = re.search(pattern[:end], text, re.M)
        except re.error:  # a part is no pattern
            continue
        if found and found.end() > found.start():
            return found.end()
        if time.monotonic() > late:
            break
    return len(text)


def around(text, offset):
    """The lines around an offset, two thirds of them behind it."""
    lines, limit = text.splitlines(), LINES * 2 // 3
    start = max(0, min(text.count("\n", 0, offset) - limit // 3, len(lines) - limit))
    shown = [f"  | {line}" for line in lines[start:start + limit]]
    return [f"[{start} lines before]"] * bool(start) + shown + [f"[{len(lines) - start - limit} lines more]"] * (len(lines) > start + limit)
