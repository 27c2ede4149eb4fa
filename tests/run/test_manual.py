# SPDX-License-Identifier: MIT
"""The manual pages: each function of the library in exactly one, nothing left out or misread."""

import collections
import glob
import os
import re
import shutil
import tempfile
import unittest

from harness import BUILD, ROOT, run

MAN = f"{BUILD}/man"
TOPICS = ["errors", "providers", "debugging", "namespaces", "objects", "kept", "dependencies", "interpreters",
          "descriptors", "process", "faults", "calls", "pyobjects", "functions", "views", "inspection", "pools", "templates", "arrays"]


def read(path):
    with open(path) as file:
        return file.read()


def plain(text):
    """What a reader sees of troff: no font changes and escapes, one space between words."""
    text = re.sub(r"^\\?\.(?:[A-Z]+|nf|fi|br)\b ?", "", re.sub(r"\\f[A-Z]|\\&|\\%", "", text), flags=re.M)
    return " ".join(text.replace("\\-", "-").replace("\\e", "\\").split())


def public_names(library):
    """What a map of versions shows to programs."""
    return re.findall(r"^\t((?:gorgon|jitreg)_\w+);", read(f"{ROOT}/{library}").split("\nGORGON_PRIVATE {")[0], re.M)


class Manual(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.header = "\n".join(map(read, sorted(set(glob.glob(f"{ROOT}/loader/gorgon/*.h")) - {f"{ROOT}/loader/gorgon/values.h"})))
        # The build compares this list with the headers and the library.
        listed = public_names("loader/libgorgon.map")
        cls.functions = {name for name in listed if not name.startswith("gorgon_debug_")}
        names = ["gorgon"] + [f"gorgon-{topic}" for topic in TOPICS]
        cls.pages = {name: read(f"{MAN}/{name}.3") for name in names}

    def test_pages_are_those_of_the_topics(self):
        names = {os.path.basename(path)[:-2] for path in glob.glob(f"{MAN}/*.3")}
        self.assertEqual(names - self.functions, set(self.pages))

    def test_each_function_is_in_exactly_one_page(self):
        where = collections.Counter(name for text in self.pages.values()
                                    for name in re.findall(r"^\.SS (gorgon_\w+)$", text, re.M))
        self.assertEqual(where, dict.fromkeys(self.functions, 1))

    def test_each_function_has_a_name_that_leads_to_its_page(self):
        for function in sorted(self.functions):
            page = re.fullmatch(r"\.so man3/(gorgon[\w-]*)\.3\n", read(f"{MAN}/{function}.3"))[1]
            self.assertIn(f"\n.SS {function}\n", self.pages[page])
            synopsis = self.pages[page].split(".SH DESCRIPTION")[0]
            self.assertEqual(len(re.findall(rf"\b{function}\(", synopsis)), 1, function)

    def test_each_error_code_is_explained(self):
        codes = re.findall(r"^\t(GORGON_ERROR_\w+) = \d+, +/\*\*< (.+) \*/$", self.header, re.M)
        self.assertGreaterEqual(len(codes), 12)
        for code, meaning in codes:
            self.assertRegex(plain(self.pages["gorgon-errors"]), rf"{code} = \d+, /\* {re.escape(meaning)} \*/")

    def test_each_comment_on_a_declaration_is_in_a_page(self):
        text = " ".join(map(plain, self.pages.values()))
        comments = re.findall(r"^/\*\*((?:(?!\*/).)*)\*/\n(?=GORGON_API|struct|enum|#define)", self.header,
                              re.S | re.M)
        self.assertGreater(len(comments), 70)
        for comment in comments:
            lines = [re.sub(r"^\s*\* ?", "", line).strip() for line in comment.strip().splitlines()]
            words = re.sub(r"@[cp] |`|\*(?=\w)|(?<=\w)\*", "", lines[0]).strip()
            self.assertTrue(words in text, words)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_pages_are_well_formed(self):
        for name in self.pages:
            result = run("groff", "-man", "-ww", "-z", "-Tutf8", f"{MAN}/{name}.3")
            self.assertEqual((result.stdout, result.stderr, result.returncode), ("", "", 0), name)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_page_of_arrays_reads_as_the_header_does(self):
        shown = run("groff", "-man", "-Tascii", "-P-cbou", f"{MAN}/gorgon-arrays.3").stdout
        # How far lines are indented differs between versions of groff.
        self.assertRegex(shown, r"\n +gorgon-arrays - memory that interpreters look at together\n")
        self.assertRegex(shown, r" +void gorgon_array_get_info\(const struct gorgon_array \*array,\n"
                                r" +struct gorgon_array_info \*ret\);\n")
        self.assertRegex(shown, r" +Returns\n +GORGON_ERROR_MISSING: nobody has shared it\. Since 0\.1\.\n")


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not installed")
class Pages(unittest.TestCase):
    def test_each_function_has_a_page_and_nothing_public_is_without_words(self):
        """doxygen ends with an error where a function, a member or a macro has no comment."""
        with tempfile.TemporaryDirectory() as folder:
            made = run("make", "-C", ROOT, "docs-api", f"BUILD={folder}", env={"MAKEFLAGS": None})
            self.assertEqual((made.stderr, made.returncode), ("", 0))
            found = "".join(map(read, glob.glob(f"{folder}/api/html/*.html")))
        for library in "loader/libgorgon.map", "jitreg/libjitreg.map":
            for name in public_names(library):
                if not name.startswith(("gorgon_debug_", "jitreg_debug_")):  # what debuggers read
                    self.assertTrue(f">{name}<" in found, name)
        self.assertTrue("classgorgon_1_1interpreter.html" in found)


if __name__ == "__main__":
    unittest.main()
