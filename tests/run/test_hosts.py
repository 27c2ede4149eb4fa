# SPDX-License-Identifier: MIT
"""Hosts of other kinds than tests/hosts has: plug-ins that come and go, the thread sanitizer, C++ with numbers of all types."""

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


class ThreadSanitizer(Hosts):
    def test_host_runs_interrupts_and_ends_interpreters(self):
        """The sanitizer ends a process that maps something at addresses that it does not know, and reports races."""
        host = self.compile("tsan.c", """
            #include <gorgon.h>
            #include <pthread.h>
            #include <stdio.h>
            #include <unistd.h>

            static struct gorgon_interp *interps[2];
            static int ended;

            static void *interrupt(void *interp)
            {
                while (!__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) {
                    usleep(20000);
                    gorgon_error_destroy(gorgon_interp_interrupt(interp));
                }
                return NULL;
            }

            static void run(struct gorgon_interp *interp, const char *source)
            {
                struct gorgon_error *err = gorgon_interp_run_string(interp, source, NULL);

                puts(gorgon_error_exception(err) ? gorgon_error_exception(err)->type : gorgon_error_message(err));
                gorgon_error_destroy(err);
            }

            static void *work(void *interp)
            {
                static const char *const blocking[] = {"while True: pass", "import time; time.sleep(1000)"};
                pthread_t thread;

                run(interp, "import threading\\n"
                    "threads = [threading.Thread(target=sum, args=(range(10000),)) for i in range(3)]\\n"
                    "for thread in threads: thread.start()\\n"
                    "for thread in threads: thread.join()\\n"
                    "1 / 0\\n");
                for (int i = 0; i < 2; i++) {
                    ended = 0;
                    pthread_create(&thread, NULL, interrupt, interp);
                    run(interp, blocking[i]);
                    __atomic_store_n(&ended, 1, __ATOMIC_RELEASE);
                    pthread_join(thread, NULL);
                }
                return NULL;
            }

            int main(void)
            {
                struct gorgon_error *err = NULL;
                pthread_t thread;

                for (int i = 0; i < 2 && !err; i++) {
                    err = gorgon_interp_create(NULL, &interps[i]);
                    if (!err)
                        err = gorgon_interp_start(interps[i], NULL);
                }
                if (!err) {
                    work(interps[0]);
                    pthread_create(&thread, NULL, work, interps[1]);
                    pthread_join(thread, NULL);
                    err = gorgon_interp_stop_within(interps[0], 60000);
                }
                for (int i = 0; i < 2 && !err; i++)
                    err = gorgon_interp_destroy(interps[i]);
                puts(err ? gorgon_error_message(err) : "end");
                return 0;
            }
            """, "-fsanitize=thread", "-g")
        result = run(host)
        expected = 2 * ["ZeroDivisionError", "KeyboardInterrupt", "KeyboardInterrupt"] + ["end"]
        self.assertEqual((result.stderr, result.stdout.splitlines(), result.returncode), ("", expected, 0))


class Forks(Hosts):
    """What a C++ host does when it forks, by what the child does first, and how the child ends: nothing hangs, the child gets an
    answer or is told why not, and the parent's interpreters are as they were."""

    GONE = "interpreter 0: was abandoned: this process was forked, and other threads were in the interpreter that are not here"
    NO_THREADS = "pool: this process was forked: it has none of the pool's threads"
    ANSWERS = {  # what the child's call into the interpreter is told
        "idle": "ok", "asleep": "ok", "pool": "ok", "busy": GONE, "busy pool": "ok",
    }
    DEEDS = ("nothing", "call", "interrupt", "create", "submit")
    ENDS = ("exit", "_exit", "return", "scope")

    def test_children_do_not_hang_and_are_told(self):
        host = self.compile("forks.cc", """
            #include <cstdlib>
            #include <gorgon.hpp>
            #include <iostream>
            #include <memory>
            #include <string>
            #include <sys/wait.h>
            #include <thread>
            #include <unistd.h>

            // Their destructors run in exit().
            static std::unique_ptr<gorgon::interpreter> in;
            static std::unique_ptr<gorgon::pool> pool;
            static std::unique_ptr<gorgon::job> job;

            static std::string begin(const std::string &folder, const char *what)
            {
                return "import os, time\\nopen('" + folder + "/begun', 'w').close()\\n" + what;
            }

            static void wait_for_begin(const std::string &folder)
            {
                while (access((folder + "/begun").c_str(), F_OK))
                    usleep(1000);
                usleep(50000);
            }

            static void act(const std::string &deed)
            {
                try {
                    if (deed == "call")
                        in->run_string("import os; assert os.getpid() > 1");
                    else if (deed == "interrupt")
                        in->interrupt();
                    else if (deed == "create")
                        gorgon::interpreter().run_string("import threading; threading.Thread(target=int).start()");
                    else if (deed == "submit" && pool)
                        pool->submit_in("os", "getpid").finish();
                    std::cout << deed << ": ok" << std::endl;
                } catch (const gorgon::error &err) {
                    std::cout << deed << ": " << err.what() << std::endl;
                }
            }

            // Returns whether main() returns.
            static bool end(const std::string &how)
            {
                if (how == "exit")
                    std::exit(3);
                if (how == "_exit")
                    _exit(3);
                return true;
            }

            int main(int argc, char **argv)
            {
                const std::string state = argv[1], folder = argv[2];
                std::thread thread;
                int failed = 0;

                in = std::make_unique<gorgon::interpreter>();
                in->run_string("import os, subprocess");
                if (state == "busy" || state == "asleep") {
                    const char *what = state == "busy" ? "while True: pass" : "time.sleep(1000)";

                    thread = std::thread([&] {
                        try {
                            in->run_string(begin(folder, what));
                        } catch (const gorgon::error &err) {
                            failed += std::string(err.what()).find("KeyboardInterrupt") == std::string::npos;
                        }
                    });
                    wait_for_begin(folder);
                }
                if (state == "pool" || state == "busy pool") {
                    const std::string warm_up = "def spin():\\n    exec('''" + begin(folder, "while True: pass") + "''', {})\\n";
                    gorgon_pool_opts opts{};

                    opts.size = sizeof(opts);
                    opts.count = 1;
                    opts.warm_up = warm_up.c_str();
                    pool = std::make_unique<gorgon::pool>(&opts);
                    if (state == "busy pool") {
                        job = std::make_unique<gorgon::job>(pool->submit("spin"));
                        wait_for_begin(folder);
                    }
                }
                for (int i = 3; i < argc; i++)
                    for (const char *how : {"exit", "_exit", "return", "scope"}) {
                        int status;

                        if (!fork()) {
                            alarm(60);
                            if (thread.joinable())
                                thread.detach(); // it is not here
                            act(argv[i]);
                            if (end(how) && std::string(how) == "scope") {
                                auto here = std::move(in);
                                auto jobs = std::move(pool);
                                auto mine = std::move(job);
                                return 3;
                            }
                            return 3;
                        }
                        wait(&status);
                        if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) {
                            std::cout << argv[i] << ", " << how << ": the child's status is " << status << std::endl;
                            failed++;
                        }
                    }
                if (thread.joinable()) {
                    in->interrupt();
                    thread.join();
                }
                if (job) {
                    job->cancel();
                    job.reset();
                }
                in->run_string("import os; assert os.getpid() > 1");
                pool.reset();
                in->close();
                in.reset();
                return failed;
            }
            """)
        for state, answer in self.ANSWERS.items():
            with self.subTest(state), tempfile.TemporaryDirectory() as folder:
                result = run(host, state, folder, *self.DEEDS)
                expected = {"nothing": "ok", "call": answer, "interrupt": "ok", "create": "ok",
                            "submit": self.NO_THREADS if "pool" in state else "ok"}
                self.assertEqual((result.stdout.splitlines(), result.stderr, result.returncode),
                                 ([f"{deed}: {expected[deed]}" for deed in self.DEEDS for _ in self.ENDS], "", 0))


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

            template <typename T> void show_as(const char *type, const char *text)
            {
                try {
                    std::printf("%s %s\\n", type, std::to_string(py->call("number", {text}).integer<T>()).c_str());
                } catch (const std::out_of_range &error) {
                    std::printf("%s %s\\n", type, error.what());
                }
            }

            int main()
            {
                gorgon::interpreter made;
                py = &made;
                py->run_string("number = int\\ndef f(a, b):\\n assert a == b and type(a) is type(b)\\n return repr(a)\\n");
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
                for (const char *text : {"-129", "-128", "-1", "255", "256", "9223372036854775807"}) {
                    show_as<signed char>("8", text);
                    show_as<unsigned char>("u8", text);
                    show_as<unsigned long>("u64", text);
                }
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
        for number in (-129, -128, -1, 255, 256, 2**63 - 1):
            for name, low, high in (("8", -128, 127), ("u8", 0, 255), ("u64", 0, 2**64 - 1)):
                bits = name.strip("u")
                refused = f"gorgon::value: {number} does not fit into {bits} bits" + ("" if "u" in name else " with a sign")
                expected.append(f"{name} {number if low <= number <= high else refused}")
        result = run(host)
        self.assertEqual((result.stderr, result.stdout.splitlines(), result.returncode), ("", expected, 0))

HOLDERS = r"""
import gorgon, numpy, pickle, weakref
gorgon.use_data_handler()
kept, places = {}, {}
FUNCTIONS = {}
class Tensor:
    def __init__(self, array): self.array = array
    def __dlpack__(self, **options): return self.array.__dlpack__()
    def __dlpack_device__(self): return self.array.__dlpack_device__()
class Box:
    pass
def make(): return numpy.zeros(50000)
def case(function):
    FUNCTIONS[function.__name__] = function
    return function
def sole(function):
    def made(x):
        result = function(x)
        array = result
        while not isinstance(array, numpy.ndarray):
            array = array[0] if isinstance(array, list) else array["a"]
        places[function.__name__] = array.__array_interface__["data"][0]
        return result
    FUNCTIONS[function.__name__] = made
# What is kept is found under the function's name.
def keep(name, array):
    kept[name] = array
    return array
@case
def in_a_global(x): return keep("in_a_global", make())
@case
def in_a_list(x): return keep("in_a_list", [make()])
@case
def in_a_list_in_a_dict(x): return keep("in_a_list_in_a_dict", {"a": [1, make()]})
@case
def in_a_new_list(x): return [keep("in_a_new_list", make())]
@case
def in_a_tuple(x): return keep("in_a_tuple", (make(), 1))
@case
def in_a_closure(x):
    array = make()
    kept["in_a_closure"] = lambda: array
    return array
@case
def in_a_frame(x):
    def frame(array):
        while True:
            yield array
    kept["in_a_frame"] = frame(make())
    return next(kept["in_a_frame"])
@case
def in_a_cycle(x):
    box = Box()
    box.box, box.array = box, make()
    kept["in_a_cycle"] = weakref.ref(box)
    return box.array
@case
def view_of_it(x): return keep("view_of_it", make())[1:]
@case
def view_is_kept(x):
    array = make()
    kept["view_is_kept"] = array[:]
    return array
@case
def other_view(x):
    array = make()
    kept["other_view"] = array[10:]
    return array[:]
@case
def gaps(x): return keep("gaps", make())[::2]
@case
def memory(x): return memoryview(keep("memory", make()))
@case
def memory_is_kept(x):
    array = make()
    kept["memory_is_kept"] = memoryview(array)
    return array
@case
def out_of_band(x): return pickle.PickleBuffer(keep("out_of_band", make()))
@case
def out_of_band_is_kept(x): return keep("out_of_band_is_kept", [pickle.PickleBuffer(make())])
@case
def iterated(x):
    array = make()
    kept["iterated"] = array.flat
    return array
@case
def dates(x): return keep("dates", numpy.zeros(50000, "M8[s]"))
@case
def records(x): return keep("records", numpy.zeros(50000, [("a", "i4"), ("b", "f8")]))
@case
def subclass(x): return keep("subclass", make().view(numpy.recarray))
@case
def masked(x): return keep("masked", numpy.ma.array(make(), mask=[True, *[False] * 49999]))
@case
def tensor(x): return Tensor(keep("tensor", make()))
@case
def named(x):
    array = make()
    gorgon.share(array, "named", writable=True)
    kept["named"] = gorgon.receive("named", writable=True)
    gorgon.withdraw("named")
    return array
@case
def received(x): return keep("received", x)
@case
def part_of_received(x): return keep("part_of_received", x[10:])
@sole
def new(x): return make()
@sole
def new_view(x): return make()[:]
@sole
def new_shape(x): return make().reshape(100, 500).T
@sole
def new_gaps(x): return make()[::2]
@sole
def new_dates(x): return numpy.zeros(50000, "M8[s]")
@sole
def new_in_a_list(x): return [[make()], 1]
@sole
def new_in_a_dict(x): return {"a": make()}
def what_is_kept(name):
    found = kept.get(name)
    if isinstance(found, dict): found = found["a"][1]
    if isinstance(found, weakref.ref): found = found() and found().array
    if callable(found): found = found()
    if hasattr(found, "send"): found = next(found)
    if isinstance(found, (list, tuple)): found = found[0]
    if isinstance(found, pickle.PickleBuffer): found = found.raw()
    if isinstance(found, numpy.flatiter): found = found.base
    if isinstance(found, numpy.ma.MaskedArray): found = found.data
    return found if found is None else numpy.asarray(found).view("u1")
def make_result(name, x): return FUNCTIONS[name](x)
def tell(name, x): gorgon.progress(FUNCTIONS[name](x))
def names(): return sorted(FUNCTIONS)
def change(name):
    found = what_is_kept(name)
    if found is not None: found[...] = 1
def is_changed(name):
    found = what_is_kept(name)
    return found is not None and bool((found == 2).any())
def place(name): return places.get(name, 0)
"""
MODES = r"""
#include <gorgon.hpp>
#include <cstdio>
#include <cstring>
#include <functional>

static gorgon_value told;

static bool listen(void *, const gorgon_value *value)
{
    told = *value;
    if (value->kind == GORGON_VALUE_LIST || value->kind == GORGON_VALUE_DICT)
        told = value->list.items[0].kind == GORGON_VALUE_STRING ? value->list.items[1] : value->list.items[0];
    while (told.kind == GORGON_VALUE_LIST)
        told = told.list.items[told.list.count - 1].kind == GORGON_VALUE_ARRAY ? told.list.items[told.list.count - 1]
                                                                             : told.list.items[0];
    gorgon_array_retain(told.array);
    return true;
}

static gorgon::array array_in(const gorgon::value &value)
{
    if (std::holds_alternative<gorgon::dict>(value))
        return array_in(value.get<gorgon::dict>().front().second);
    if (!std::holds_alternative<gorgon::list>(value))
        return value.get<gorgon::array>();
    const gorgon::list &items = value.get<gorgon::list>();
    return array_in(std::holds_alternative<int64_t>(items.back()) ? items.front() : items.back());
}

using call = std::function<gorgon::value(const char *, gorgon::list)>;

static void try_all(const char *mode, call other, call get)
{
    const gorgon::value names = other("names", {});

    for (const gorgon::value &each : names.get<gorgon::list>()) {
        const std::string name = each.get<std::string>();
        ptrdiff_t count = 50000;
        gorgon_array_opts opts = {};
        opts.size = sizeof(opts);
        opts.layout.format = "d";
        opts.layout.ndim = 1;
        opts.layout.shape = &count;
        opts.writable = true;
        gorgon::array argument(opts);
        gorgon::array result = array_in(get("make_result", {name, argument}));
        char *data = static_cast<char *>(result.info().data), *mine = static_cast<char *>(argument.info().data);
        bool follows = false;

        other("change", {name});
        follows = data[80] != 0;
        data[80] = 2;
        std::printf("%s %s%s%s%s\n", mode, name.c_str(), follows ? " follows" : "",
                    other("is_changed", {name}).get<bool>() || mine[80] == 2 || mine[160] == 2 ? " changes" : "",
                    reinterpret_cast<int64_t>(data) == other("place", {name}).get<int64_t>() ? " in place" : "");
    }
}

int main(int, char **argv)
{
    gorgon_start_opts opts = {};
    opts.size = sizeof(opts);
    opts.progress = listen;
    {
        gorgon::interpreter py(nullptr, &opts);
        py.run_string(argv[1]);
        call in = [&](const char *name, gorgon::list args) { return py.call(name, std::move(args)); };
        try_all("call", in, in);
        try_all("object", in, [&](const char *name, gorgon::list args) { return py.global(name).call(args).to_value(); });
        try_all("progress", in, [&](const char *, gorgon::list args) {
            py.call("tell", std::move(args));
            return gorgon::value(gorgon::array(told.array));
        });
    }
    gorgon_pool_opts pool_opts = {};
    pool_opts.size = sizeof(pool_opts);
    pool_opts.count = 1;
    pool_opts.warm_up = argv[1];
    gorgon::pool pool(&pool_opts);
    call job = [&](const char *name, gorgon::list args) { return pool.submit(name, std::move(args)).finish(); };
    try_all("job", job, job);
}
"""


class Results(Hosts):
    def test_arrays_are_the_hosts_alone(self):
        """Whatever of the interpreter holds the memory; what nothing holds stays in its place."""
        result = run(self.compile("results.cc", MODES), HOLDERS)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        found = {}
        for line in result.stdout.splitlines():
            mode, name, how = (line + " ").split(" ", 2)
            found[mode, name] = how.strip()
        self.assertEqual(sum(how == "in place" for how in found.values()), 14)
        for (mode, name), how in found.items():
            with self.subTest(mode=mode, name=name):
                self.assertEqual(how, "in place" if name.startswith("new") and mode in ("call", "job") else "")
        self.assertEqual(len(found), 4 * 32)


if __name__ == "__main__":
    unittest.main()
