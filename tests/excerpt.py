# SPDX-License-Identifier: MIT
"""Why a test has failed, in few lines: who reads the log of a run has nothing else.

Sessions with debuggers print hundreds of lines, and unittest shows all of them, often as one
line with escapes. Here such a text has its lines again, and what is left of it is where the
assertion says: around the longest part of what was expected that is there, around what should
not be there, around each difference; otherwise its beginning and, more of it, its end."""

import ast
import re
import time

WIDTH = 240
CONTEXT = 2  # lines around a difference
SECONDS = 5  # to look for beginnings of a pattern: some that do not match take their time

LITERAL = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
# unittest's words; in the named group is what to look for in the text.
ASSERTIONS = [(re.compile(words.replace("L", LITERAL), re.S), is_pattern) for words, is_pattern in (
    (r"Regex didn't match: (?P<sought>L) not found in (?P<text>L)", True),
    (r"Regex matched: (?P<sought>L) matches L in (?P<text>L)", False),
    (r"(?P<sought>L) not found in (?P<text>L)", False),
    (r"(?P<sought>L) unexpectedly found in (?P<text>L)", False))]


def excerpt(message, limit=40):
    """The text of a failure in about `limit` lines."""
    stack, message = split_stack(message.rstrip())
    limit = max(limit - len(stack), 8)
    for assertion, is_pattern in ASSERTIONS:
        found = assertion.search(message)
        if found:
            sought, text = ast.literal_eval(found["sought"]), ast.literal_eval(found["text"])
            head = (message[:found.start()] + message[found.start():found.start("text")]).splitlines()
            rest = message[found.end():].splitlines()
            shown = around(text, place(sought, text, is_pattern), max(limit - len(head) - min(len(rest), 4), 8))
            return finish(stack + head + ["  | " + line for line in shown] + cut(rest, 4))
    lines = unfold(message).splitlines()
    if len(lines) > limit:
        lines = differences(lines, limit) or cut(lines, limit)
    return finish(stack + lines)


def finish(lines):
    return "\n".join(line if len(line) <= WIDTH else f"{line[:WIDTH - 60]} ... {line[-50:]}" for line in lines)


def split_stack(message):
    """(the last lines that say where, the rest)"""
    before, header, after = message.rpartition("Traceback (most recent call last):\n")
    found = re.search(r"^\S", after, re.M) if header else None  # the exception's name
    if not found:
        return [], message
    return cut(before.splitlines(), 3) + after[:found.start()].splitlines()[-6:], after[found.start():]


def unfold(message):
    """Long literals get their lines back."""
    def text(found):
        try:
            value = ast.literal_eval(found[0])
        except (SyntaxError, ValueError):
            return found[0]  # quotes of another kind of text
        return "\n  | " + value.rstrip("\n").replace("\n", "\n  | ") + "\n" if value.count("\n") > 1 else found[0]

    return re.sub(LITERAL, lambda found: text(found) if len(found[0]) > 80 else found[0], message, flags=re.S)


def place(sought, text, is_pattern):
    """Where the longest beginning of what was sought ends; the end of the text if none is there."""
    late = time.monotonic() + SECONDS
    for end in range(len(sought), 3, -1):
        if time.monotonic() > late:
            break
        try:
            found = re.search(sought[:end] if is_pattern else re.escape(sought[:end]), text, re.M)
        except re.error:
            continue
        if found and found.end() > found.start():
            return found.end()
    return len(text)


def around(text, offset, limit):
    """The lines of a text around an offset, two thirds of them after it."""
    lines, at = text.splitlines(), text.count("\n", 0, offset)
    start = max(0, min(at - limit // 3, len(lines) - limit))
    left_out = [f"[{start} lines]"] if start else []
    rest = len(lines) - start - limit
    return left_out + lines[start:start + limit] + ([f"[{rest} lines]"] if rest > 0 else [])


def differences(lines, limit):
    """The changed lines of unittest's differences with what is around them; nothing when there are none."""
    changed = [i for i, line in enumerate(lines) if re.match(r"[-+?] ", line)]
    kept = sorted({j for i in changed for j in range(i - CONTEXT, i + CONTEXT + 1) if 0 < j < len(lines)})
    return cut(lines[:1] + [lines[i] for i in kept], limit) if changed else []


def cut(lines, limit):
    """A third of the limit from the beginning, the rest from the end."""
    if len(lines) <= limit:
        return lines
    first = limit // 3
    return [*lines[:first], f"[{len(lines) - limit} lines]", *lines[-(limit - first):]]
