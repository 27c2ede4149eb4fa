# SPDX-License-Identifier: MIT
"""A host whose tenants loop, block, start threads, allocate and have faults: build/tenants, for a short time; ../long/tenants.py has the
long one."""

import os
import re
import unittest

from harness import BUILD, run

LINE = (r"tenants: (\d+) interpreters, (\d+) stops, longest \d+ ms, late \d+ \(busy \d+\), wrong (\d+), abandoned (\d+) of which (\d+) kept with "
        r"(\d+) KiB, grown -?\d+ KiB and -?\d+ KiB free")


class Tenants(unittest.TestCase):
    def run_host(self, *arguments):
        result = run(os.path.join(BUILD, "tenants"), *arguments)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        match = re.search(LINE, result.stdout)
        self.assertTrue(match, result.stdout)
        return [int(group) for group in match.groups()]

    def test_host_goes_on_whatever_tenants_do(self):
        interps, stops, wrong, abandoned, kept, kib = self.run_host("8", "3")
        self.assertEqual(stops, interps)
        self.assertEqual(wrong, 0)
        self.assertLessEqual(kept, abandoned)
        self.assertEqual(bool(kept), bool(kib))

    def test_computing_tenants_are_right_while_others_have_faults(self):
        _, _, wrong, abandoned, kept, _ = self.run_host("faults", "20")
        # On a busy machine, or under sanitizers, ends of interpreters may also be late; they are abandoned, too, and may be kept.
        self.assertEqual(wrong, 0)
        self.assertGreaterEqual(abandoned, 20)
        self.assertLessEqual(kept, abandoned - 20)


if __name__ == "__main__":
    unittest.main()
