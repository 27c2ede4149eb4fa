# SPDX-License-Identifier: MIT
"""curve: a plot of ratios over a number that grows, as SVG; the number's axis is logarithmic."""

import math

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 820, 300, 60, 50, 260, 45
COLOURS = ("#1f6fb2", "#c8511b", "#12a37a", "#8a4fbf", "#7a6a2b")


def text(x, y, words, anchor="start", extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}"{extra}>{words}</text>'


def draw(title, subtitle, x_label, lines):
    """@lines: {name: [(x, ratio), ...]}."""
    xs = sorted({x for points in lines.values() for x, _ in points})
    top = max(1.5, math.ceil(2 * max(ratio for points in lines.values() for _, ratio in points)) / 2)
    left, right = math.log(xs[0]), math.log(xs[-1])

    def x_of(x):
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log(x) - left) / max(right - left, 1e-9)

    def y_of(ratio):
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * ratio / top

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
           'font-family="sans-serif" font-size="12">', f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           text(LEFT, 20, title, extra=' font-size="14" font-weight="bold"'), text(LEFT, 38, subtitle, extra=' fill="#555"')]
    for step in range(int(2 * top) + 1):
        out += [f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(step / 2):.1f}" y2="{y_of(step / 2):.1f}" stroke="#ddd"/>',
                text(LEFT - 8, y_of(step / 2) + 4, f"{step / 2:.1f}", "end")]
    out += [text(x_of(x), HEIGHT - BOTTOM + 18, f"{x:,.0f}", "middle") for x in xs]
    out.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, x_label, "middle"))
    low = TOP
    for (name, points), colour in sorted(zip(lines.items(), COLOURS), key=lambda one: y_of(one[0][1][-1][1])):
        where = " ".join(f"{x_of(x):.1f},{y_of(ratio):.1f}" for x, ratio in points)
        low = max(y_of(points[-1][1]), low)  # no label upon another
        out += [f'<polyline points="{where}" fill="none" stroke="{colour}" stroke-width="2"/>',
                *(f'<circle cx="{x_of(x):.1f}" cy="{y_of(ratio):.1f}" r="3" fill="{colour}"/>' for x, ratio in points),
                text(WIDTH - RIGHT + 12, low + 4, f"{name}: {points[-1][1]:.2f}", extra=f' fill="{colour}"')]
        low += 16
    return "\n".join([*out, "</svg>"]) + "\n"
