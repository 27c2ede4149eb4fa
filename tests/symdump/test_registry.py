# SPDX-License-Identifier: MIT
"""The registry of a live host and of its cores: objects where /proc/PID/maps has them, and every
address named as gdb names it in the library's own file."""

import os
import random
import re
import shutil
import sys
import tempfile
import unittest

import harness

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import symdump_session as session  # noqa: E402

EVERY = list(range(session.COUNT))
SAMPLES = 10000  # of each copy


def gdb_names(path, vaddrs):
    """[(function, offset, line) or None] of addresses in a file that is not loaded: by gdb."""
    commands = ["set print demangle off", f"file {path}"]
    for vaddr in vaddrs:
        commands += [f"echo ={vaddr:#x}\\n", f"info symbol {vaddr:#x}", f"info line *{vaddr:#x}"]
    names = []
    for part in re.split(r"^=0x\w+\n", harness.gdb(commands), flags=re.M)[1:]:
        symbol = re.match(r"(\S+)(?: \+ (\d+))? in section", part)
        line = re.search(r'^Line (\d+) of "([^"]*)"', part, re.M)
        names.append((symbol and (symbol[1], int(symbol[2] or 0)),
                      line and f"{os.path.basename(line[2])}:{line[1]}"))
    assert len(names) == len(vaddrs)
    return names


def gdb_sections(pid):
    """{address of a symfile: [(name, start, end) of a section]} that gdb has taken from memory."""
    text = harness.gdb(["maintenance info sections -all-objects"], options=["-p", pid])
    parts = re.split(r"^Object file: `(.*?)'.*\n", text, flags=re.M)
    return {re.match(r"<in-memory@(0x\w+)", name)[1]: [(section, int(start, 16), int(end, 16)) for start, end, section in
                                                     re.findall(r"(0x\w+)->(0x\w+) at 0x\w+: (\S+) ALLOC", part)]
            for name, part in zip(parts[1::2], parts[2::2]) if name.startswith("<in-memory@")}


def aliases(path):
    """{name: address}, by nm, of the file and of its detached debug file."""
    build_id = re.search(r"Build ID: (\w+)", harness.run("readelf", "-n", path).stdout)[1]
    debug = f"/usr/lib/debug/.build-id/{build_id[:2]}/{build_id[2:]}.debug"
    table = {}
    for options in (["-D", path], [path], [debug]):
        for address, name in re.findall(r"^(\w+) \w ([^@\s]+)", harness.run("nm", *options).stdout, re.M):
            table.setdefault(name, set()).add(int(address, 16))
    return table


def text_range(path):
    found = re.search(r"\s\.text\s+PROGBITS\s+(\w+) \w+ (\w+)", harness.run("readelf", "-SW", path).stdout)
    return int(found[1], 16), int(found[1], 16) + int(found[2], 16)


@harness.needs_gdb
class Registry(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = session.Scene()
        cls.addClassCleanup(cls.scene.close)
        cls.checks = {"live": session.symdump(cls.scene.host.pid, "--check")}
        cls.gdb_sections = gdb_sections(cls.scene.host.pid)
        cls.cores = {"gcore": cls.scene.gcore()}
        if session.kernel_writes_cores_into_files():
            cls.cores["kernel"] = cls.scene.kernel_core()
        for name, core in cls.cores.items():
            cls.checks[name] = session.symdump(core, "--check")

    def test_objects_are_where_the_kernel_has_them(self):
        found = session.objects(self.scene.live)
        self.assertEqual(sorted({interp for interp, _ in found}), EVERY)
        for _, o in found:
            start, end = int(o["start"], 16), int(o["end"], 16)
            inside = [m for m in self.scene.mappings if start <= m.start < end]
            path = os.path.realpath(o["path"])
            self.assertEqual((inside[0].start, inside[0].offset, inside[0].path), (start, 0, path))
            self.assertTrue({m.path for m in inside} <= {path, ""}, path)
            bias = int(o["bias"], 16)
            self.assertEqual((start - bias, end - bias), session.pages(path))
            self.assertGreaterEqual(inside[-1].end, end)

    def test_objects_are_where_gdb_has_them(self):
        """gdb without any script: each symfile is one of its files, all of it inside the object's range."""
        for o, sections in ((o, self.gdb_sections.pop(o["symfile"]["address"])) for _, o in session.objects(self.scene.live)):
            text = [tuple(a - int(o["bias"], 16) for a in addresses) for name, *addresses in sections if name == ".text"]
            self.assertEqual(text, [text_range(os.path.realpath(o["path"]))], o["path"])
            for name, start, end in sections:
                self.assertTrue(int(o["start"], 16) <= start <= end <= int(o["end"], 16), (o["path"], name))
        self.assertEqual(self.gdb_sections, {})  # there are no others

    def test_every_executable_mapping_of_a_private_file_belongs_to_one_object(self):
        ranges = [(int(o["start"], 16), int(o["end"], 16)) for _, o in session.objects(self.scene.live)]
        # The system may have loaded other libraries, such as libz, for the host, too.
        private = {os.path.realpath(o["path"]) for _, o in session.objects(self.scene.live) if "python" in o["path"]}
        texts = [m for m in self.scene.mappings if m.executable and m.path in private]
        self.assertGreaterEqual(len(texts), len(private) * session.COUNT)
        for m in texts:
            self.assertEqual(sum(start <= m.start and m.end <= end for start, end in ranges), 1, m.path)

    def test_each_interpreter_has_libpython_and_numpy(self):
        for ns in self.scene.live["namespaces"]:
            names = [os.path.basename(o["path"]) for o in ns["objects"]]
            self.assertEqual(names[0], harness.SONAME)
            self.assertEqual(sum(name.startswith("_multiarray_umath") for name in names), 1)
            self.assertEqual((ns["python"], ns["state"]), (harness.VERSION, "live"))

    def test_snapshot_says_what_it_is(self):
        live = self.scene.live
        self.assertEqual((live["schema"], live["version"], live["target"], live["source"]),
                         ("gorgon-symdump", 1, "process", "gorgon"))
        self.assertEqual((live["consistent"], live["problems"]), (True, []))

    def test_cores_have_the_same_objects(self):
        for name, core in self.cores.items():
            with self.subTest(name):
                self.assertEqual(session.dump(core)["namespaces"], self.scene.live["namespaces"])

    def test_check_finds_nothing_wrong(self):
        for name, result in self.checks.items():
            with self.subTest(name):
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                self.assertIn(f": consistent: 3 namespaces, {len(session.objects(self.scene.live))} objects\n",
                              result.stdout)

    def test_find_names_every_copy(self):
        for source, where in [*self.cores.items()]:
            lines = session.output(where, "--find", "PyList_Append").splitlines()
            found = [re.fullmatch(rf"(0x\w+) +\d+  interp (\d)  {harness.SONAME_RE}!PyList_Append\+0x0"
                                  r"  listobject\.c:\d+", line) for line in lines]
            self.assertEqual({int(f[2]): int(f[1], 16) for f in found}, self.scene.addresses, source)

    def test_symbols_of_a_pattern_are_those_of_nm(self):
        names = {name for name in aliases(harness.LIBPYTHON) if name.startswith("PyList_")}
        names -= {"PyList_Type.lto_priv.0"}
        lines = session.output(self.cores["gcore"], "--symbols", "PyList_*").splitlines()
        for interp in EVERY:
            self.assertEqual({re.search(r"!(\S+)\+0x0", line)[1] for line in lines if f"  interp {interp}  " in line},
                             names)

    def test_sysroot_keeps_to_itself(self):
        """Files below the sysroot are used, and a link in it cannot lead out of it. Without the file the symfile in
        memory still has the names."""
        with tempfile.TemporaryDirectory() as root:
            def put(path):
                os.makedirs(root + os.path.dirname(path), exist_ok=True)
                shutil.copy(path, root + path)
            for name in ("libgorgon.so.0", "libjitreg.so.0"):
                put(os.path.join(harness.BUILD, name))
            os.makedirs(root + os.path.dirname(harness.LIBPYTHON))
            os.symlink(harness.LIBPYTHON, root + harness.LIBPYTHON)  # outside, unless it is looked up inside
            address = hex(self.scene.addresses[1])
            result = session.symdump(self.cores["gcore"], "--sysroot", root, "--addr", address)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stdout, f"{address}  interp 1  {harness.SONAME}!PyList_Append+0x0\n")
            self.assertEqual(result.stderr, f"gorgon-symdump: {harness.LIBPYTHON}: no such file; see --sysroot\n")
            os.remove(root + harness.LIBPYTHON)
            put(harness.LIBPYTHON)
            result = session.symdump(self.cores["gcore"], "--sysroot", root, "--addr", address)
            self.assertRegex(result.stdout, rf"^{address}  interp 1  {harness.SONAME_RE}!PyList_Append\+0x0  \S+:\d+\n$")

    def test_another_file_at_the_same_place_is_not_believed(self):
        with tempfile.TemporaryDirectory() as root:
            for path, file in ((os.path.join(harness.BUILD, "libgorgon.so.0"),) * 2,
                               (harness.LIBPYTHON, os.path.join(harness.BUILD, "libjitreg.so.0"))):
                os.makedirs(root + os.path.dirname(path), exist_ok=True)
                shutil.copy(file, root + path)
            result = session.symdump(self.cores["gcore"], "--sysroot", root, "--addr", hex(self.scene.addresses[0]))
            self.assertRegex(result.stderr, rf"^gorgon-symdump: {harness.LIBPYTHON}: the file has build-id \w+, "
                             r"the target's object \w{40}\n$")
            self.assertRegex(result.stdout, r"!PyList_Append\+0x0\n$")  # of the symfile


@harness.thorough
@harness.needs_gdb
class Names(unittest.TestCase):
    @staticmethod
    def choose(scene):
        """[(interpreter, object, address)]: addresses in text, the same in every copy."""
        chosen, rng = [], random.Random(5)
        by_path = {}
        for interp, o in session.objects(scene.live):
            by_path.setdefault(o["path"], []).append((interp, o))
        vaddrs = [(path, rng.randrange(*text_range(path))) for path in rng.choices(
            sorted(by_path), weights=[text_range(path)[1] - text_range(path)[0] for path in sorted(by_path)],
            k=SAMPLES)]
        for path, vaddr in vaddrs:
            chosen += [(interp, o, int(o["bias"], 16) + vaddr) for interp, o in by_path[path]]
        return chosen

    def test_addresses_are_named_as_gdb_names_them_in_the_file(self):
        scene = session.Scene()
        self.addCleanup(scene.close)
        samples = self.choose(scene)
        words = ["--addr", *(hex(a) for _, _, a in samples)]
        named = {"live": session.output(scene.host.pid, *words)}
        named["gcore"] = session.output(scene.gcore(), *words)
        if session.kernel_writes_cores_into_files():
            named["kernel"] = session.output(scene.kernel_core(), *words)
        expected = {}
        by_path = {}
        for _, o, address in samples:
            by_path.setdefault(o["path"], set()).add(address - int(o["bias"], 16))
        for path, vaddrs in by_path.items():
            vaddrs = sorted(vaddrs)
            for vaddr, names in zip(vaddrs, gdb_names(path, vaddrs)):
                expected[path, vaddr] = names
        tables = {path: aliases(path) for path in by_path}
        for source, text in named.items():
            lines = text.splitlines()
            self.assertEqual(len(lines), len(samples))
            functions = sources = 0
            for line, (interp, o, address) in zip(lines, samples):
                path, vaddr = o["path"], address - int(o["bias"], 16)
                function, place = expected[path, vaddr]
                found = re.fullmatch(rf"{address:#x}  interp {interp}  {re.escape(os.path.basename(path))}"
                                     r"(?:!([^ ]+))?\+(0x\w+)(?:  (\S+:\d+))?", line)
                self.assertTrue(found, line)
                context = (source, line, function, place)
                if function:
                    functions += 1
                    # One address can have several names; at the same offset they start at the same place.
                    self.assertIn(vaddr - int(found[2], 16), tables[path][found[1]], context)
                    self.assertEqual(int(found[2], 16), function[1], context)
                else:
                    self.assertIsNone(found[1], context)
                if place:
                    sources += 1
                    self.assertEqual(found[3], place, context)
            # Debian's numpy and BLAS are stripped: most of their text has no name anywhere.
            self.assertGreater(functions, len(samples) // 4)
            of_python = sum(os.path.basename(o["path"]) == harness.SONAME for _, o, _ in samples)
            self.assertGreater(sources, of_python // 2)


if __name__ == "__main__":
    unittest.main()
