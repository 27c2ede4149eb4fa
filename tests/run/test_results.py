# SPDX-License-Identifier: MIT
"""make commit-results: one commit of what long tests have written, with what they came to, and of nothing else."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from harness import ROOT

RESULTS = """# Results of the long tests

## arrays

Shared arrays. 2026-11-23, 64.7 s; Linux 6, 2 processors.

| case | expected | seen |  |
| --- | --- | --- | --- |
| one | yes | yes | ok |
| two | yes | no | {two} |
{more}"""
MORE = """
## forks

Forks. 2026-11-24, 3 s; Linux 6, 2 processors.

| case | expected | seen |  |
| --- | --- | --- | --- |
| many | | skipped: no room | skipped |
"""
WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org",
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}


@unittest.skipUnless(shutil.which("git"), "git is not installed")
class Results(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.write("tests/long/RESULTS.md", RESULTS.format(two="ok", more=""))
        self.write("tests/long/COMPATIBILITY.md", "old\n")
        self.write("loader/code.c", "old\n")
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "first")

    def write(self, name, text):
        os.makedirs(os.path.dirname(os.path.join(self.folder, name)), exist_ok=True)
        with open(os.path.join(self.folder, name), "w") as file:
            file.write(text)

    def do(self, *words):
        return subprocess.run(words, env={**os.environ, **WHO}, capture_output=True, text=True, check=False)

    def git(self, *words):
        result = self.do("git", "-C", self.folder, *words)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def commit_results(self):
        return self.do(sys.executable, f"{ROOT}/tools/results.py", self.folder)

    def test_what_was_written_is_committed_with_what_it_came_to(self):
        self.write("tests/long/RESULTS.md", RESULTS.format(two="FAILED", more=MORE))
        self.write("tests/long/COMPATIBILITY.md", "new\n")
        self.write("tests/bench/LOAD.md", "new\n")
        result = self.commit_results()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.git("log", "-1", "--format=%B").strip(), (
            "tests: results of arrays, forks, load\n\n"
            "arrays: Shared arrays. 2026-11-23, 64.7 s: 1 ok, 1 FAILED\n"
            "forks: Forks. 2026-11-24, 3 s: 1 skipped\n"
            "tests/bench/LOAD.md\n"
            "tests/long/COMPATIBILITY.md"))
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_other_changes_stay_as_they_are(self):
        self.write("tests/long/COMPATIBILITY.md", "new\n")
        self.write("loader/code.c", "new\n")
        self.write("loader/staged.c", "new\n")
        self.git("add", "loader/staged.c")
        self.assertEqual(self.commit_results().returncode, 0)
        self.assertEqual(self.git("show", "--format=", "--name-only", "HEAD"), "tests/long/COMPATIBILITY.md\n")
        self.assertEqual(self.git("status", "--porcelain"), " M loader/code.c\nA  loader/staged.c\n")

    def test_nothing_new_is_no_commit(self):
        self.write("loader/code.c", "new\n")
        result = self.commit_results()
        self.assertEqual((result.returncode, result.stdout), (0, "results: none has changed since the last commit\n"))
        self.assertEqual(self.git("log", "--format=%s"), "first\n")

    def test_what_git_refuses_is_told(self):
        self.write("tests/long/COMPATIBILITY.md", "new\n")
        self.write(".git/index.lock", "")
        result = self.commit_results()
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("results: git add: "), result.stderr)


if __name__ == "__main__":
    unittest.main()
