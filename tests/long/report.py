# SPDX-License-Identifier: MIT
"""What the long tests share: cases with what was expected and seen, progress, and a file for run.py.

A long test is a program of its own: tests/long/NAME.py. It makes one Report, calls check()
for each case and ends with sys.exit(report.finish()). What users want to look up (does my
package work?) goes into tables besides: tests/long/COMPATIBILITY.md has those."""

import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Report:
    def __init__(self, title):
        self.title = title
        self.rows = []
        self.tables = []
        self.started = time.monotonic()
        self.line = False

    def progress(self, done, total, text=""):
        """A line that overwrites itself on a terminal; nothing elsewhere."""
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\033[K{self.title}: {done}/{total} {text}")
            sys.stderr.flush()
            self.line = True

    def _clear(self):
        if self.line:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()
            self.line = False

    def check(self, case, ok, expected, seen, detail=""):
        """One case. @expected and @seen are short texts for the table; @detail is printed when it failed."""
        self._clear()
        self.rows.append({"case": case, "ok": bool(ok), "expected": str(expected), "seen": str(seen)})
        print(f"{'ok' if ok else 'FAILED':8}{self.title}: {case}: {seen}", flush=True)
        if not ok:
            print(f"        expected {expected}", flush=True)
            if detail:
                print("        " + detail.rstrip().replace("\n", "\n        "), flush=True)
        return bool(ok)

    def skip(self, case, reason):
        """Skip a case, only if a tool is absent."""
        self._clear()
        self.rows.append({"case": case, "ok": None, "expected": "", "seen": f"skipped: {reason}"})
        print(f"skipped {self.title}: {case}: {reason}", flush=True)

    def table(self, title, columns, text=""):
        """Begin a table of tests/long/COMPATIBILITY.md, with a line of @text above it."""
        self.tables.append({"title": title, "text": text, "columns": columns, "rows": []})

    def entry(self, *cells):
        """A row of the last table."""
        assert len(cells) == len(self.tables[-1]["columns"]), cells
        self.tables[-1]["rows"].append([str(cell) for cell in cells])

    def finish(self):
        """Exit status; run.py finds the rows in the file that it names in $REPORT."""
        self._clear()
        if os.environ.get("REPORT"):
            with open(os.environ["REPORT"], "w") as file:
                json.dump({"title": self.title, "seconds": round(time.monotonic() - self.started, 1),
                           "rows": self.rows, "tables": self.tables}, file)
        return 0 if self.rows and all(row["ok"] is not False for row in self.rows) else 1
