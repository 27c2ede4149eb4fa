# SPDX-License-Identifier: MIT
"""Hosts of other kinds than tests/hosts has: plug-ins that come and go, C++ with numbers of all types."""

import os
import shutil
import subprocess
import tempfile
import textwrap
import unittest

from harness import BUILD, ROOT, SANITIZED, run


@unittest.skipIf(SANITIZED, "a host of its own, without the sanitizer")
class Hosts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="gorgon-hosts-")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def compile(self, name, source, *options):
        """The path of a program, or of a library with "-shared"."""
        compiler = ["gcc", "-xc"] if name.endswith(".c") else ["g++", "-xc++", "-std=c++17"]
        path = os.path.join(self.folder, os.path.splitext(name)[0])
        result = subprocess.run([*compiler, "-Wall", "-Wextra", "-Werror", "-pthread", "-fPIC", "-", "-o", path, *options,
                                 f"-I{ROOT}/loader", f"-L{BUILD}", "-lgorgon", f"-Wl,-rpath,{BUILD}"],
                                input=textwrap.dedent(source), capture_output=True, text=True, check=False)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        return path


class PlugIns(Hosts):
    def test_plug_in_is_opened_and_closed_a_hundred_times(self):
        """The host's threads end afterwards, and it forks."""
        plug_in = self.compile("plugin.c", """
            #include <gorgon.h>
            #include <stdio.h>

            int work(int with_python);
            int work(int with_python)
            {
                struct gorgon_interp *interp;
                struct gorgon_error *err = gorgon_interp_create(NULL, &interp);

                if (!err && with_python)
                    err = gorgon_interp_start(interp, NULL);
                if (!err && with_python)
                    err = gorgon_interp_run_string(interp, "import threading\\n"
                                                   "t = threading.Thread(target=len, args=('',)); t.start(); t.join()", NULL);
                if (!err)
                    err = gorgon_interp_destroy(interp);
                if (err)
                    puts(gorgon_error_message(err));
                return err != NULL;
            }
            """, "-shared")
        host = self.compile("host.c", """
            #include <dlfcn.h>
            #include <pthread.h>
            #include <stdio.h>
            #include <sys/wait.h>
            #include <unistd.h>

            static const char *path;
            static int count, failed;

            static void *visit(void *unused)
            {
                void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
                int (*work)(int) = handle ? (int (*)(int))dlsym(handle, "work") : NULL;

                (void)unused;
                failed += !work || work(count % 5 == 0);
                failed += !handle || dlclose(handle) || dlopen(path, RTLD_NOW | RTLD_NOLOAD);
                return NULL;
            }

            int main(int argc, char **argv)
            {
                pthread_t thread;
                int status;

                (void)argc;
                path = argv[1];
                for (; count < 100; count++) {
                    failed += pthread_create(&thread, NULL, visit, NULL) || pthread_join(thread, NULL);
                    if (count % 20 == 19) {
                        visit(NULL);
                        if (!fork())
                            _exit(0);
                        failed += wait(&status) < 0 || status;
                    }
                }
                printf("%d failed\\n", failed);
                return 0;
            }
            """, "-Wl,--as-needed", "-ldl")
        self.assertNotIn("gorgon", run("ldd", host).stdout)
        result = run(host, plug_in)
        self.assertEqual((result.stdout, result.stderr, result.returncode), ("0 failed\n", "", 0))


class Values(Hosts):
    def test_numbers_of_every_type_arrive_or_are_refused(self):
        """A value of C++ has the number that it was given, whatever its type."""
        host = self.compile("values.cc", """
            #include <gorgon.hpp>
            #include <cstdio>
            #include <cstdint>
            #include <limits>

            enum plain : unsigned long { many = 5'000'000'000 };
            gorgon::interpreter *py;

            template <typename T> void show(const char *type, T number)
            {
                gorgon::list args;
                try {
                    args.push_back(number);
                    gorgon::value assigned;
                    assigned = number;
                    args.push_back(assigned);
                    std::printf("%s %s\\n", type, py->call("f", args).get<std::string>().c_str());
                } catch (const std::out_of_range &error) {
                    std::printf("%s %s\\n", type, error.what());
                }
            }

            template <typename T> void show_limits(const char *type)
            {
                show(type, std::numeric_limits<T>::min());
                show(type, std::numeric_limits<T>::max());
            }

            int main()
            {
                gorgon::interpreter made;
                py = &made;
                py->run_string("def f(a, b):\\n assert a == b and type(a) is type(b)\\n return repr(a)\\n");
                show_limits<bool>("bool");
                show_limits<signed char>("signed char");
                show_limits<unsigned char>("unsigned char");
                show_limits<short>("short");
                show_limits<unsigned short>("unsigned short");
                show_limits<int>("int");
                show_limits<unsigned>("unsigned");
                show_limits<long>("long");
                show_limits<unsigned long>("unsigned long");
                show_limits<long long>("long long");
                show_limits<unsigned long long>("unsigned long long");
                show("size_t", std::string(3, 'x').size());
                show("enum", many);
                show("float", 1.5f);
                show("double", 1e300);
                show("long double", 1.5L);
                show("long double", 1e4000L);
                show("long double", std::numeric_limits<long double>::infinity());
                gorgon::value direct = std::size_t(5'000'000'000);
                std::printf("%lld\\n", static_cast<long long>(direct.get<int64_t>()));
            }
            """)
        expected = ["bool False", "bool True"]
        for name, low, high in (("signed char", -2**7, 2**7 - 1), ("unsigned char", 0, 2**8 - 1), ("short", -2**15, 2**15 - 1),
                                ("unsigned short", 0, 2**16 - 1), ("int", -2**31, 2**31 - 1), ("unsigned", 0, 2**32 - 1),
                                ("long", -2**63, 2**63 - 1), ("unsigned long", 0, None), ("long long", -2**63, 2**63 - 1),
                                ("unsigned long long", 0, None)):
            expected.append(f"{name} {low}")
            refused = "gorgon::value: 18446744073709551615 does not fit into 64 bits with a sign"
            expected.append(f"{name} {refused if high is None else high}")
        expected += ["size_t 3", "enum 5000000000", "float 1.5", "double 1e+300", "long double 1.5",
                     "long double gorgon::value: a long double that double does not hold", "long double inf", "5000000000"]
        result = run(host)
        self.assertEqual((result.stderr, result.stdout.splitlines(), result.returncode), ("", expected, 0))


if __name__ == "__main__":
    unittest.main()
