# SPDX-License-Identifier: MIT
"""What the commands print, as lines of text: the same words in gdb and lldb.

Knows no debugger; each function takes a Snapshot (root.py) and returns a string."""

from . import root


def table(heading, rows):
    """Columns two blanks apart; the last one is not padded."""
    rows = [heading] + [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in rows) for i in range(len(heading))]
    return "".join("  ".join(c.ljust(w) for c, w in zip(row, widths)).rstrip() + "\n" for row in rows)


def remarks(snapshot):
    """Lines to print above any answer: they say why it may be wrong."""
    text = ""
    if snapshot.changing:
        text += "The list is being changed at this moment; what follows may be incomplete.\n"
    return text + "".join(f"Damaged: {problem}\n" for problem in snapshot.problems)


def number(ns):
    return f"ns {ns.id}" if ns.interp is None else str(ns.interp)


def numbers(namespaces):
    """The numbers of some namespaces, for a sentence: interpreters 0 to 2, 5."""
    runs = []
    for text in map(number, namespaces):
        follows = runs and text.isdigit() and runs[-1][1] == str(int(text) - 1)
        runs[-1 if follows else len(runs):] = [(runs[-1][0] if follows else text, text)]
    text = ", ".join(first if first == last else f"{first} to {last}" for first, last in runs)
    return f"interpreters {text}" if len(namespaces) > 1 else f"interpreter {text}"


def lines_missing(snapshot, without_lines):
    """Sentences about lines that the user may look for in vain. @without_lines: namespaces of which the debugger lacks source lines."""
    text = ""
    if without_lines:
        text += (f"Lines may be missing in {numbers(without_lines)}: the process keeps no files for debuggers "
                 "(`gorgon doctor`, in its environment, says why).\n")
    reasons = {}
    for ns in snapshot.namespaces:
        reasons.setdefault(snapshot.read_lines(ns), []).append(ns)
    return text + "".join(f"Python lines are missing in {numbers(having)}: {reason}.\n"
                          for reason, having in reasons.items() if reason)


def read_copy_of(snapshot, ns):
    try:
        return snapshot.read_copy_of(ns)
    except root.MemoryProblem:
        return "?"


def interpreters(snapshot, thread_name, gil, without_lines=()):
    """gorgon list. thread_name(LWP) is how the debugger calls that thread, gil(Namespace, thread_name) the thread that
    holds the GIL. @without_lines: see lines_missing()."""
    if not snapshot.namespaces:
        return remarks(snapshot) + "No interpreters.\n"
    rows, copies = [], {ns: read_copy_of(snapshot, ns) for ns in snapshot.namespaces}
    for ns in snapshot.namespaces:
        python = ns.libpython
        rows.append([number(ns), ns.python_version, len(ns.objects),
                     thread_name(ns.thread) if ns.thread else "-",
                     f"{python.start:#x}-{python.end:#x}" if python else "-", ns.state_name, gil(ns, thread_name)] + [copies[ns] or "-"] * any(copies.values()))
    heading = ["Num", "Python", "Objects", "Thread", "libpython", "State", "GIL"] + ["Copy of"] * any(copies.values())
    return (remarks(snapshot) + table(heading, rows)
            + lines_missing(snapshot, without_lines))


def size(count):
    """Bytes, as people read them; "-" for what is not known, or not there."""
    return "-" if not count else f"{count >> 10}K" if count < 10 << 20 else f"{count >> 20}M"


def started_threads(snapshot, ns):
    """How many threads of an interpreter's code there are; "-" where the process does not say whose threads are."""
    owners = [thread.owner for thread in snapshot.threads]
    return "-" if None in owners else owners.count(ns.address)


def figures(snapshot):
    """gorgon list -v."""
    rows = []
    for ns in snapshot.namespaces:
        try:
            found = snapshot.read_figures(ns)
        except root.MemoryProblem:
            rows.append([number(ns), "?", "?", "?", "?", "?", "?", "", ""])
            continue
        rows.append([number(ns), found.activity or "-", "-" if found.calls is None else found.calls,
                     "-" if found.calls_ns is None else f"{found.calls_ns / 1e9:.1f}s", started_threads(snapshot, ns), size(found.memory),
                     size(found.limit), found.label or "-", found.job or "-"])
    if not rows:
        return remarks(snapshot) + "No interpreters.\n"
    return remarks(snapshot) + table(["Num", "Doing", "Calls", "CPU", "Threads", "Memory", "Limit", "Label", "Job"], rows)


def modules(snapshot, namespaces):
    """gorgon modules: the objects of these namespaces, in load order."""
    rows = [[number(ns), o.name, f"{o.start:#x}-{o.end:#x}", f"{o.bias:#x}", o.debug]
            for ns in namespaces for o in ns.objects]
    if not rows:
        return remarks(snapshot) + "No objects.\n"
    return remarks(snapshot) + table(["Num", "Name", "Addresses", "Bias", "Debug info"], rows)


def whose(snapshot, address, symbol, place):
    """gorgon whose: one line. symbol: function+offset or None; place: file:line or None."""
    found = snapshot.find_object(address)
    if not found:
        return remarks(snapshot) + f"{address:#x} is in no private object\n"
    ns = found.namespace
    owner = f"namespace {ns.id}" if ns.interp is None else f"interpreter {ns.interp}"
    parts = [owner, found.name, symbol or f"offset {address - found.bias:#x}"]
    if place:
        parts.append(place)
    return remarks(snapshot) + f"{address:#x}: {', '.join(parts)}\n"


def parse_interp(snapshot, text):
    """The namespace that the user means by a number. Raises root.RootError."""
    ns = snapshot.find_interp(int(text)) if text.isdigit() else None
    if ns:
        return ns
    known = ", ".join(str(ns.interp) for ns in snapshot.interpreters)
    raise root.RootError(f"no interpreter {text}; " + (f"there are {known}" if known else "there are none"))
