# SPDX-License-Identifier: MIT
"""Programs that were built against the last release go on with the libraries of today: docs/stability.md."""

import re
import shutil
import tempfile
import unittest

from harness import BUILD, ROOT, SANITIZED, run

ABI = f"{ROOT}/tests/abi"


@unittest.skipUnless(shutil.which("abidiff"), "abidiff is not installed")
@unittest.skipIf(SANITIZED, "sanitizers add symbols")
class Abi(unittest.TestCase):
    def compare(self, baseline, library):
        """(whether programs of the baseline go on, what abidiff says)."""
        result = run("abidiff", "--no-added-syms", "--suppressions", f"{ABI}/growth.suppr", baseline, f"{BUILD}/{library}.so")
        self.assertEqual(result.returncode & 3, 0, result.stderr + result.stdout)  # abidiff itself has failed
        return result.returncode == 0, result.stdout

    def changed(self, pattern, replacement):
        """The same, with a baseline in which something is changed."""
        with open(f"{ABI}/libgorgon.abi") as file:
            text, count = re.subn(pattern, replacement, file.read(), flags=re.S)
        self.assertEqual(count, 1, pattern)
        with tempfile.NamedTemporaryFile("w", suffix=".abi") as file:
            file.write(text)
            file.flush()
            return self.compare(file.name, "libgorgon")

    def test_programs_of_the_last_release_go_on(self):
        for library in ("libgorgon", "libjitreg"):
            with self.subTest(library):
                same, text = self.compare(f"{ABI}/{library}.abi", library)
                self.assertTrue(same, f"{text}\nIf no released program can know the difference, `make abi` records it.")

    def test_a_function_that_has_gone_is_found(self):
        same, text = self.changed(r"<elf-function-symbols>\n",
                                  "<elf-function-symbols>\n    <elf-symbol name='gorgon_gone' version='GORGON_0.1' is-default-version='yes' "
                                  "type='func-type' binding='global-binding' visibility='default-visibility' is-defined='yes'/>\n")
        self.assertFalse(same)
        self.assertIn("gorgon_gone", text)

    def test_a_member_that_has_moved_is_found(self):
        same, text = self.changed(r"(<class-decl name='gorgon_array_info'.*?)<data-member access='public' layout-offset-in-bits='0'>.*?</data-member>",
                                  r"\1")
        self.assertFalse(same)
        self.assertIn("gorgon_array_info", text)

    def test_a_member_at_the_end_of_a_sized_structure_is_good(self):
        # The baseline is that of a release that did not have the last member yet.
        with open(f"{ABI}/libgorgon.abi") as file:
            found = re.search(r"<class-decl name='gorgon_open_opts' size-in-bits='(\d+)'.*?</class-decl>", file.read(), re.S)
        last = re.findall(r"      <data-member .*?</data-member>\n", found[0], re.S)[-1]
        offset = re.search(r"layout-offset-in-bits='(\d+)'", last)[1]
        shorter = found[0].replace(last, "").replace(f"size-in-bits='{found[1]}'", f"size-in-bits='{offset}'", 1)
        same, text = self.changed(re.escape(found[0]), shorter.replace("\\", r"\\"))
        self.assertTrue(same, text)


if __name__ == "__main__":
    unittest.main()
