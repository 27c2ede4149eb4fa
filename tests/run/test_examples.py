# SPDX-License-Identifier: MIT
"""The examples print what their first comments say, in C and in C++."""

import re
import unittest

from harness import BUILD, ROOT, run

EXAMPLES = f"{BUILD}/examples"


def promised(example):
    """The indented block of the first comment of an example in C."""
    with open(f"{ROOT}/examples/{example}.c") as file:
        comment = re.match(r"(?://.*\n)+", file.read())[0]
    lines = re.findall(r"^//\t(.*)$", comment, re.M)
    assert lines, example
    return "\n".join(lines) + "\n"


class Examples(unittest.TestCase):
    def check(self, example, *arguments):
        for program in (example, f"{example}_cc"):
            with self.subTest(program, arguments=arguments):
                result = run(f"{EXAMPLES}/{program}", *arguments)
                self.assertEqual((result.stdout, result.stderr, result.returncode), (promised(example), "", 0))

    def test_python_api(self):
        self.check("python_api")

    def test_symbol_provider(self):
        self.check("symbol_provider")

    def test_custom_library_in_c_and_in_cpp(self):
        self.check("custom_library", f"{EXAMPLES}/librunner.so")
        self.check("custom_library", f"{EXAMPLES}/librunner_cc.so")

    def test_pool(self):
        self.check("pool")

    def test_session(self):
        self.check("session")

    def test_metrics(self):
        for program in ("metrics", "metrics_cc"):
            result = run(f"{EXAMPLES}/{program}")
            self.assertEqual((result.stderr, result.returncode), ("", 0))
            types = "".join(line + "\n" for line in result.stdout.splitlines() if line.startswith("# TYPE"))
            self.assertEqual(types, promised("metrics"))
            values = dict(re.findall(r"^gorgon_interpreter_(\w+\{interpreter=\"[01]\"\}) ([0-9.e+-]+)$", result.stdout, re.M))
            self.assertEqual(len(values), 14)
            self.assertEqual(values['state{interpreter="1"}'], "3")
            self.assertEqual(float(values['memory_limit_bytes{interpreter="0"}']), 256 << 20)
            self.assertGreater(float(values['memory_bytes{interpreter="0"}']), 1 << 20)
            self.assertGreater(float(values['cpu_seconds_total{interpreter="1"}']), 0)

    def test_customers(self):
        result = run(f"{EXAMPLES}/customers")
        self.assertEqual(result.returncode, 0, result.stderr)
        for line, expected in zip(result.stdout.splitlines(), promised("customers").splitlines(), strict=True):
            self.assertTrue(line.startswith(expected), result.stdout)
        self.assertEqual(re.findall(r"^(\w+): \d+ ms of processor time, \d+ KiB$", result.stderr, re.M), ["anna", "bert", "carl", "dora"])

    def test_custom_library_that_is_absent_says_so(self):
        for program in ("custom_library", "custom_library_cc"):
            result = run(f"{EXAMPLES}/{program}", "/nonexistent.so")
            self.assertEqual((result.stdout, result.returncode), ("", 1))
            self.assertIn("/nonexistent.so: No such file or directory", result.stderr)
