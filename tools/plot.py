#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draw the README's plot out of a table of `make bench-debug`.

Usage: plot.py RESULTS.md PLOT.svg

It shows what a debugger spends on attaching, a breakpoint, the way to the stop and a backtrace (the column "work in all" of
the table "Attached"), for Gorgon's hosts with more and more interpreters and for the ordinary host beside each."""

import re
import sys

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 820, 300, 60, 50, 300, 45
# {name of the table's row: (its name in the plot, colour)}
SERIES = {"gdb": ("plain gdb", "#1f6fb2"), "gdb, scripts, again": ("gdb with our scripts", "#12a37a"), "lldb": ("plain lldb", "#c8511b")}


def read(path):
    """{row's name: {interpreters: (seconds with an ordinary host, with Gorgon)}} and the line with day and versions."""
    with open(path) as file:
        text = file.read()
    found, column = {}, None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "work in all" in cells:
            column = cells.index("work in all")
        elif column and not line.startswith("|"):
            break
        elif column and cells[0] in SERIES:
            pair = re.search(r"\(([\d.]+), ([\d.]+)\)", cells[column])
            found.setdefault(cells[0], {})[int(cells[1])] = (float(pair[1]), float(pair[2]))
    if set(found) != set(SERIES):
        sys.exit(f"{path}: no figures of {', '.join(sorted(set(SERIES) - set(found)))}")
    return found, re.search(r"^\d{4}-\d\d-\d\d; .*", text, re.M)[0].split(" Made by")[0].rstrip(".")


def draw(found, source):
    counts = sorted({count for row in found.values() for count in row})
    top = max(second for row in found.values() for pair in row.values() for second in pair)
    top = int(top) + 1

    def x(count):
        return LEFT + (WIDTH - LEFT - RIGHT) * counts.index(count) / max(1, len(counts) - 1)

    def y(seconds):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * seconds / top

    def text(at_x, at_y, words, anchor="start", extra=""):
        return f'<text x="{at_x:.0f}" y="{at_y:.0f}" text-anchor="{anchor}"{extra}>{words}</text>'

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             text(LEFT, 20, "Attach, break PyList_Append, run to the stop, backtrace", extra=' font-size="14" font-weight="bold"'),
             text(LEFT, 38, "seconds of the debugger's processor time; dashed: an ordinary host with one Python", extra=' fill="#555"')]
    for seconds in range(0, top + 1):
        lines += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(seconds):.1f}" y2="{y(seconds):.1f}" stroke="#ddd"/>',
                  text(LEFT - 8, y(seconds) + 4, f"{seconds} s", "end")]
    for count in counts:
        lines.append(text(x(count), HEIGHT - BOTTOM + 18, f"{count:,}", "middle"))
    lines.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "interpreters in the process", "middle"))
    labels = []
    for name, (title, colour) in SERIES.items():
        row = sorted(found[name].items())
        for side, dash in ((0, ' stroke-dasharray="4 4"'), (1, "")):
            points = " ".join(f"{x(count):.1f},{y(pair[side]):.1f}" for count, pair in row)
            lines.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        lines += [f'<circle cx="{x(count):.1f}" cy="{y(pair[1]):.1f}" r="3" fill="{colour}"/>' for count, pair in row]
        count, (ordinary, ours) = row[-1]
        labels.append((y(ours), f"{title}, {count:,}: {ours:.1f} s ({ours / ordinary:.1f} times)", colour))
    low = TOP
    for at, words, colour in sorted(labels):  # moved down so that no two overlap
        low = max(at, low)
        lines.append(text(WIDTH - RIGHT + 12, low + 4, words, extra=f' fill="{colour}"'))
        low += 16
    lines.append(text(WIDTH - 8, HEIGHT - 8, source.split(";")[0], "end", ' fill="#999" font-size="10"'))
    return "\n".join([*lines, "</svg>"]) + "\n"


def main(results, plot):
    image = draw(*read(results))
    with open(plot, "w") as file:
        file.write(image)


if __name__ == "__main__":
    main(*sys.argv[1:])
