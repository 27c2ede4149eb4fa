#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Pictures of the tables in DEBUG.md and FEEL.md: multiples of an ordinary host, on a logarithmic axis.

Usage: panels.py RESULTS.md PLOT.svg

The table decides which: one with the column "work in all" is drawn over the number of interpreters, one with "first hit"
command by command."""

import math
import re
import sys

COLOURS = {"gdb": "#1f6fb2", "gdb, scripts, first time": "#e08a1e", "gdb, scripts, again": "#12a37a", "lldb": "#c8511b",
           "1": "#1f6fb2", "3": "#e08a1e", "20": "#c8511b"}
STEPS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


def text(x, y, words, anchor="start", extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{words}</text>'


def line(x1, y1, x2, y2, colour="#ddd"):
    return f'<line x1="{x1:.1f}" x2="{x2:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}"/>'


def dot(x, y, colour, filled=True):
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour if filled else "white"}" stroke="{colour}" stroke-width="1.5"/>'


def scale(values, start, end):
    """(where a value lies between two places, the steps that are named)."""
    low = max(step for step in STEPS if step <= min(*values, 1))
    high = min(step for step in STEPS if step >= max(*values, 1))

    def place(value):
        return start + (end - start) * math.log(value / low) / math.log(high / low)

    return place, [step for step in STEPS if low <= step <= high]


def times(step):
    return f"{step:g} ×"


def read(path):
    """{(debugger, interpreters): {column: ratio}} of the first table with ratios."""
    with open(path) as file:
        content = file.read()
    rows, header = {}, None
    for cells in ([cell.strip() for cell in row.strip("|").split("|")] for row in re.findall(r"^\|.*\|$", content, re.M)):
        if cells[:2] == ["debugger", "interpreters"]:
            if header:
                break
            header = cells
        elif header and not cells[0].startswith("-"):
            rows[cells[0], int(cells[1])] = {name: float(re.match(r"[\d.]+", cell)[0]) for name, cell in zip(header[2:], cells[2:])
                                             if re.match(r"[\d.]+", cell) and name != "symbols"}
    return rows


def image(width, height, parts):
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
                      'font-family="sans-serif" font-size="12">', f'<rect width="{width}" height="{height}" fill="white"/>',
                      *parts, "</svg>"]) + "\n"


def over_interpreters(rows):
    """A panel for each of three columns."""
    width, height, gap, top, bottom = 330, 300, 64, 56, 250
    parts = [text(gap, 20, "Attached to a process: multiples of an ordinary host with one Python", extra=' font-size="14" font-weight="bold"')]
    counts = sorted({count for _, count in rows})
    for number, (column, title) in enumerate((("attach", "processor time to attach"), ("work in all", "processor time from attach to backtrace"),
                                              ("peak memory", "the debugger's memory at its peak"))):
        left, right = gap + number * width, number * width + width - 20
        y, steps = scale([row[column] for row in rows.values()], bottom, top)
        parts.append(text(left, top - 14, title, extra=' fill="#555"'))
        for step in steps:
            parts += [line(left, y(step), right, y(step), "#888" if step == 1 else "#ddd"), text(left - 8, y(step) + 4, times(step), "end")]
        place = {count: left + (right - left) * at / max(1, len(counts) - 1) for at, count in enumerate(counts)}
        parts += [text(place[count], bottom + 18, f"{count:,}", "middle") for count in counts]
        parts.append(text((left + right) / 2, bottom + 38, "interpreters with numpy", "middle"))
        for name in dict.fromkeys(name for name, _ in rows):
            points = [(place[count], y(row[column])) for (other, count), row in rows.items() if other == name]
            parts.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in points)}" fill="none" '
                         f'stroke="{COLOURS[name]}" stroke-width="2"/>')
            parts += [dot(a, b, COLOURS[name]) for a, b in points]
    at = gap
    for name in dict.fromkeys(name for name, _ in rows):
        words = {"gdb": "plain gdb", "lldb": "plain lldb"}.get(name, name)
        parts += [dot(at, height + 12, COLOURS[name]), text(at + 10, height + 16, words)]
        at += 40 + 7 * len(words)
    return image(3 * width, height + 30, parts)


def by_command(rows):
    """A panel for each debugger: a line for each command."""
    width, top, gap, pitch = 470, 86, 100, 22
    columns = list(next(row for (name, _), row in rows.items() if "scripts" in name))
    bottom = top + pitch * len(columns)
    parts = [text(gap, 20, "Processor time for each command: multiples of an ordinary host with one Python", extra=' font-size="14" font-weight="bold"')]
    for number, debugger in enumerate(("gdb", "lldb")):
        left, right = gap + number * width, number * width + width - 15
        mine = {key: row for key, row in rows.items() if key[0].split(",")[0] == debugger}
        x, steps = scale([ratio for row in mine.values() for ratio in row.values()], left, right)
        steps = [step for step in steps if len(steps) < 10 or math.log10(step).is_integer()]
        parts.append(text(left, top - 14, debugger, extra=' font-weight="bold"'))
        for step in steps:
            parts += [line(x(step), top - 4, x(step), bottom, "#888" if step == 1 else "#ddd"), text(x(step), bottom + 16, times(step), "middle")]
        for at, column in enumerate(columns):
            y = top + pitch * at + pitch / 2
            parts += [line(left, y, right, y, "#f0f0f0"), text(left - 8, y + 4, column, "end")]
            for shift, ((name, count), row) in enumerate(sorted(mine.items(), key=lambda entry: ("scripts" in entry[0][0], entry[0][1]))):
                if column in row:  # dots that lie upon each other are moved a little
                    parts.append(dot(x(row[column]), y + (shift % 3 - 1) * 4, COLOURS[str(count)], "scripts" in name))
    at = gap
    for count in sorted({count for _, count in rows}):
        words = f"{count} interpreter{'s' if count > 1 else ''}"
        parts += [dot(at, 40, COLOURS[str(count)]), text(at + 10, 44, words)]
        at += 120
    parts += [dot(at, 40, "#555"), text(at + 10, 44, "with our scripts"), dot(at + 130, 40, "#555", False), text(at + 140, 44, "plain")]
    return image(2 * width, bottom + 30, parts)


def draw(path):
    rows = read(path)
    if not rows:
        sys.exit(f"{path}: no table of multiples")
    return (over_interpreters if "work in all" in next(iter(rows.values())) else by_command)(rows)


def main(results, plot):
    picture = draw(results)
    with open(plot, "w") as file:
        file.write(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
