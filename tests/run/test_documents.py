# SPDX-License-Identifier: MIT
"""Documents lead to what is there, and the README stays short."""

import glob
import os
import re
import tempfile
import unittest
import xml.etree.ElementTree

from harness import ROOT, run

LINK = re.compile(r"\]\(([^()\s]+)\)")
# Pages to look something up in, beside what they are made of.
REFERENCE = {"loader/process/NAMES.md", "tests/long/COMPATIBILITY.md", "tests/parity/PARITY.md", "tools/MESSAGES.md"}
# Pages for readers, without code and tables, have so many words together.
WORDS = 15000
LARGEST = 1 << 18  # bytes of a file


def documents():
    """All of our documents, in a clone or in a tree without git, but nothing that was built or fetched."""
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [name for name in folders if name not in ("build", "debian") and not name.startswith(".")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name.endswith(".md")]
    return found


def read(name):
    with open(f"{ROOT}/{name}") as file:
        return file.read()


def links(name):
    """[(target as it stands, file or folder that it means, heading or "")] of the relative links of a document."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(name), flags=re.M | re.S)
    found = [target for target in LINK.findall(text) if not re.match(r"[a-z]+:", target)]
    return [(target, os.path.normpath(os.path.join(os.path.dirname(name), target.partition("#")[0]) if target[0] != "#" else name),
             target.partition("#")[2]) for target in found]


def headings(name):
    """The anchors that a document's headings have."""
    text = re.sub(r"^```.*?^```", "", read(name), flags=re.M | re.S)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", text, re.M)}


class Documents(unittest.TestCase):
    def test_relative_links_lead_somewhere(self):
        names = documents()
        self.assertIn("docs/architecture.md", names)
        for name in names:
            for target, path, heading in links(name):
                self.assertTrue(os.path.exists(f"{ROOT}/{path}"), f"{name}: {target}")
                if heading:
                    self.assertIn(heading, headings(path), f"{name}: {target}")

    def test_each_page_can_be_reached_from_the_readme(self):
        seen, waiting = set(), ["README.md"]
        while waiting:
            name = waiting.pop()
            if name not in seen:
                seen.add(name)
                waiting += [path for _, path, _ in links(name) if path.endswith(".md")]
        self.assertEqual(({name for name in documents() if name.startswith("docs/")} | REFERENCE) - seen, set())

    def test_each_page_says_first_for_whom_it_is(self):
        for name in (name for name in documents() if name.startswith("docs/")):
            self.assertRegex(read(name), r"\A# .*\n\nFor ", name)

    def test_the_pages_for_readers_are_short_enough_to_read(self):
        pages = {name: re.sub(r"^```.*?^```|^\|[^\n]*|<!--.*?-->", "", read(name), flags=re.M | re.S)
                 for name in documents() if name.startswith("docs/")}
        self.assertLessEqual(sum(len(page.split()) for page in pages.values()), WORDS)

    @unittest.skipUnless(os.path.exists(f"{ROOT}/.git"), "a tree without git does not tell its files from what was made in it")
    def test_no_file_of_the_project_is_large(self):
        """A core, a library or a wheel that slips into a commit is in everybody's clone and in the tarball."""
        names = run("git", "-C", ROOT, "ls-files", "-z").stdout.rstrip("\0").split("\0")
        self.assertEqual([name for name in names if os.path.exists(f"{ROOT}/{name}") and os.path.getsize(f"{ROOT}/{name}") > LARGEST], [])

    def test_the_readme_is_short(self):
        self.assertLessEqual(len(read("README.md").splitlines()), 120)

    def test_the_version_is_the_same_everywhere(self):
        version = re.search(r"^VERSION := (.*)$", read("Makefile"), re.M)[1]
        for name, pattern in (("debian/changelog", rf"gorgon \({version.replace('-', '~')}\)"), ("meson.build", rf"version: '{version}'"),
                              ("rpm/gorgon.spec", rf"upstream {version}\n.*?Version: +{version.replace('-', '~')}\n"),
                              ("examples/gorgon.wrap", rf"directory = gorgon-{version}\nsource_filename = gorgon-{version}\.tar\.gz\n"),
                              ("python/gorgon/__init__.py", rf'__version__ = "{version.replace("-", "")}"')):
            self.assertRegex(read(name), re.compile(pattern, re.S), name)

    def test_one_place_has_the_address_of_the_maintainers(self):
        """debian/changelog cannot be without it."""
        with open(os.path.join(ROOT, "debian", "control")) as file:
            address = re.search(r"^Maintainer: .*<(.*)>$", file.read(), re.M)[1]
        files = []
        for path in glob.glob(f"{ROOT}/debian/*") + glob.glob(f"{ROOT}/rpm/*") + glob.glob(f"{ROOT}/*.*") + glob.glob(f"{ROOT}/python/*.*"):
            if os.path.isfile(path):
                with open(path, errors="replace") as file:
                    files += [os.path.relpath(path, ROOT)] if address in file.read() else []
        files.sort()
        self.assertEqual(files, ["debian/changelog", "debian/control"])

    def test_the_comparison_has_the_figures_of_the_results(self):
        with tempfile.NamedTemporaryFile("w+", suffix=".md") as file:
            file.write(read("docs/comparison.md"))
            file.flush()
            result = run("python3", f"{ROOT}/tools/comparison.py", file.name)
            self.assertEqual((result.stderr, result.returncode), ("", 0))
            with open(file.name) as written:
                self.assertEqual(written.read(), read("docs/comparison.md"), "make docs-comparison")
        figures = re.search(r"figures: workers -->\n\n.*\n.*\n((?:\|.*\n)+)", read("docs/comparison.md"))[1]
        for cell in (cell for row in figures.splitlines() for cell in row.strip("| ").split("|")[1:]):
            self.assertRegex(cell.strip(), r"\A(\d+\.\d+|refused by numpy|)\Z")

    def test_the_plots_of_the_benchmarks_are_drawn_from_the_results(self):
        for name, dots in ("DEBUG", 4 + 11 * 3), ("FEEL", 5):
            with self.subTest(name), tempfile.NamedTemporaryFile(suffix=".svg") as file:
                result = run("python3", f"{ROOT}/tests/bench/panels.py", f"{ROOT}/tests/bench/{name}.md", file.name)
                self.assertEqual((result.stderr, result.returncode), ("", 0))
                for path in (file.name, f"{ROOT}/tests/bench/{name}.svg"):
                    image = xml.etree.ElementTree.parse(path).getroot()
                    self.assertGreaterEqual(len(image.findall("{*}circle")), dots)
                    words = [text.text for text in image.findall("{*}text")]
                    self.assertIn("1 ×", words)
                    self.assertEqual([word for word in words if "10^" in word], [])

    def test_a_plot_without_figures_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/empty.md", "w") as file:
                file.write("# nothing\n")
            result = run("python3", f"{ROOT}/tests/bench/panels.py", f"{folder}/empty.md", f"{folder}/plot.svg")
            self.assertEqual((result.returncode, os.listdir(folder)), (1, ["empty.md"]))
            self.assertIn("empty.md: no table of multiples", result.stderr)


if __name__ == "__main__":
    unittest.main()
