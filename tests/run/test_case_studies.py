# SPDX-License-Identifier: MIT
"""The whole programs in examples/ do what they are for."""

import concurrent.futures
import contextlib
import json
import os
import re
import signal
import socket
import tempfile
import textwrap
import unittest
import urllib.error
import urllib.request

from harness import BUILD, ROOT, SANITIZED, VENV_PYTHON, Background, find_python, install_package, run

EXAMPLES = f"{ROOT}/examples"
MINORS = range(11, 16)


def request(url, data=None):
    """(status, answer) of a request."""
    try:
        with urllib.request.urlopen(url, data, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def post(url, data):
    return request(url, data.encode())


def get(url, method="GET"):
    return request(urllib.request.Request(url, method=method))


def notebook_without_memory(text):
    return re.sub(r"\S+ times its memory", "", text)


@unittest.skipIf(SANITIZED, "installs what users get")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="gorgon-studies-")
        install_package(f"{cls.folder.name}/site")
        cls.environment = {"PYTHONPATH": f"{cls.folder.name}/site", "OPENBLAS_NUM_THREADS": "1"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_a_web_service_with_a_model_for_each_tenant(self):
        settings = [f"{name}={value}" for name, value in {**self.environment, "TENANT_SECONDS": "3"}.items()]
        with Background("env", *settings, VENV_PYTHON, f"{EXAMPLES}/tenants/service.py", "0", until=r"http://\S+ for alpha, beta\n") as service:
            url = service.output.split()[0]
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda i: post(url + ("alpha", "beta")[i % 2], "[1, 2, 3]"), range(20)))
            self.assertEqual({status for status, _ in answers}, {200})
            interpreters = []
            for tenant, following in (0, 4.0), (1, 2.428571):
                bodies = [body for _, body in answers[tenant::2]]
                self.assertEqual({body["next"] for body in bodies}, {following})
                interpreters.append({body["interpreter"] for body in bodies})
                self.assertEqual(sorted(body["calls"] for body in bodies), list(range(1, 11)))  # each interpreter has a `calls` of its own
            self.assertIn(interpreters, ([{0}, {1}], [{1}, {0}]))
            self.assertEqual({body["process"] for _, body in answers}, {service.pid})
            # Beta's model never ends, so its tenant gets a new interpreter, while alpha's tenant keeps its own.
            self.assertEqual(post(url + "beta", "[-1]")[0], 504)
            self.assertEqual(post(url + "beta", "[1]"), (200, {"next": 1.0, "calls": 1, "interpreter": 2, "process": service.pid}))
            self.assertEqual({post(url + "alpha", "[1, 2]")[1]["interpreter"]}, interpreters[0])
            self.assertEqual(post(url + "alpha", '["x"]')[0], 500)
            self.assertEqual(post(url + "gamma", "[1]")[0], 404)
            os.kill(service.pid, signal.SIGTERM)
            service.process.wait(60)
            self.assertNotIn("Traceback", service.output)

    @contextlib.contextmanager
    def stores(self, *options, until="Uvicorn running", **environment):
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        settings = [f"{name}={value}" for name, value in {**self.environment, **environment}.items()]
        with Background("env", "-C", f"{EXAMPLES}/stores", *settings, VENV_PYTHON, "-B", "-m", "uvicorn", "service:app", "--port", str(port), *options,
                        until=until) as service:
            while True:  # processes that have said that they are there may not listen yet
                with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
                    break
            yield f"http://127.0.0.1:{port}/", service

    def test_a_fastapi_service_with_a_pool_per_process(self):
        with self.stores(STORES_SECONDS="3") as (url, service):
            with concurrent.futures.ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda i: get(f"{url}stores/{i % 4}?draws=40"), range(20)))
            self.assertEqual({status for status, _ in answers}, {200})
            self.assertEqual({body["process"] for _, body in answers}, {service.pid})
            self.assertEqual(len({body["low"] for _, body in answers}), 4)
            self.assertTrue(all(190 < body["low"] < body["high"] < 210 for _, body in answers), answers)
            self.assertEqual(get(f"{url}stores/50"), (404, {"detail": "no store 50"}))
            self.assertEqual(get(f"{url}stores/1?draws=1"), (422, {"detail": "draws must be 20 or more, found 1"}))
            self.assertEqual(get(f"{url}stores/1?draws=10000000"), (504, {"detail": "no answer within 3 s"}))
            self.assertEqual(get(f"{url}stores/3?draws=40")[1], answers[3][1])  # by another interpreter
            self.assertEqual(get(f"{url}jobs/1")[0], 404)
            self.assertEqual(get(f"{url}jobs?draws=20", "POST"), (202, {"job": 1}))
            while (job := get(f"{url}jobs/1")[1])["state"] in ("waits", "runs"):
                self.assertIn(job["stores"], range(51))
            self.assertEqual((job["state"], len(job["intervals"])), ("done", 50))
            # As many jobs as there are workers run, those behind them wait; both can be stopped.
            jobs = [get(f"{url}jobs?draws=500", "POST")[1]["job"] for _ in range(len(os.sched_getaffinity(0)) + 1)]
            self.assertEqual({get(f"{url}jobs/{job}", "DELETE")[0] for job in jobs}, {202})
            for job in jobs:
                while (state := get(f"{url}jobs/{job}")[1]["state"]) in ("waits", "runs"):
                    pass
                self.assertEqual(state, "stopped")
            get(f"{url}jobs?draws=1000000", "POST")
            os.kill(service.pid, signal.SIGINT)
            service.process.wait(60)
            self.assertRegex(service.output, r"Application shutdown complete\.\n.*Finished server process")
            self.assertNotIn("Traceback", service.output)

    def test_the_service_in_two_processes(self):
        with self.stores("--workers", "2", until="(?s)startup complete.*startup complete") as (url, service), \
                concurrent.futures.ThreadPoolExecutor(8) as threads:
            processes = set()
            while len(processes) < 2:
                processes |= {body["process"] for _, body in threads.map(lambda i: get(f"{url}stores/{i}?draws=20"), range(20))}
            self.assertNotIn(service.pid, processes)
            os.kill(service.pid, signal.SIGTERM)
            service.process.wait(60)
            self.assertEqual(service.output.count("Application shutdown complete"), 2, service.output)

    def test_a_notebook(self):
        """The cells print what the notebook has, with lines of cells in tracebacks, as a kernel runs them."""
        code = """
            import json, linecache, sys
            for number, cell in enumerate(json.load(open(sys.argv[1]))["cells"]):
                if cell["cell_type"] == "code":
                    text = "".join(cell["source"])
                    linecache.cache[f"<cell {number}>"] = len(text), None, text.splitlines(True), f"<cell {number}>"
                    exec(compile(text, f"<cell {number}>", "exec"))
            """
        path = f"{EXAMPLES}/notebook.ipynb"
        result = run(VENV_PYTHON, "-c", textwrap.dedent(code), path, env=self.environment)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        with open(path) as file:
            stored = "".join(line for cell in json.load(file)["cells"] for output in cell.get("outputs", ()) for line in output["text"])
        self.assertEqual(notebook_without_memory(result.stdout), notebook_without_memory(stored))
        self.assertLess(float(re.search(r"(\S+) times its memory", result.stdout)[1]), 3)

    def test_a_batch_of_pictures(self):
        folder = f"{self.folder.name}/pictures"
        os.mkdir(folder)
        make = """
            import sys
            from PIL import Image
            for number in range(10):
                grey = 255 - 25 * number
                Image.new("RGB", (300, 150 + number), (grey, grey, grey)).save(f"{sys.argv[1]}/{number}.png")
            open(f"{sys.argv[1]}/notes.txt", "w").write("no picture")
            """
        look = """
            import sys
            from PIL import Image
            with Image.open(sys.argv[1]) as sheet:
                print(sheet.size, [sheet.getpixel((64 + 128 * (i % 4), 64 + 128 * (i // 4)))[0] for i in range(12)], sheet.getpixel((64, 2)))
            """
        run(VENV_PYTHON, "-c", textwrap.dedent(make), folder).check_returncode()
        result = run(VENV_PYTHON, f"{EXAMPLES}/contact_sheet.py", folder, f"{self.folder.name}/sheet.png", env=self.environment)
        self.assertEqual((result.stderr, result.returncode), (f"notes.txt: cannot identify image file '{folder}/notes.txt'\n", 0))
        self.assertEqual([line.split()[1] for line in result.stdout.splitlines()], [f"{n}.png" for n in reversed(range(10))])
        self.assertEqual(result.stdout.splitlines()[-1], "100.0 0.png")
        # From dark to light, then white; above and below each of them there is grey.
        greys = [255 - 25 * number for number in reversed(range(10))]
        self.assertEqual(run(VENV_PYTHON, "-c", textwrap.dedent(look), f"{self.folder.name}/sheet.png").stdout,
                         f"(512, 384) {[*greys, 255, 255]} (128, 128, 128)\n")


class Plugins(unittest.TestCase):
    LINES = "text/html; charset=utf-8; q=1\nimage/png\n"

    def plugins(self, *words):
        return run(f"{BUILD}/examples/plugins_cc", *words, input=self.LINES)

    def test_plugins_of_two_versions_of_cpython(self):
        old = next(filter(None, (find_python(f"3.{minor}") for minor in MINORS if minor < 13)), None)
        new = next(filter(None, (find_python(f"3.{minor}") for minor in reversed(MINORS) if minor > 11)), None)
        if not old or not new or old == new:
            raise unittest.SkipTest("expected a CPython before 3.13, and another one from 3.12 on")
        result = self.plugins(f"{EXAMPLES}/plugins/content_type.py", old, f"{EXAMPLES}/plugins/upper.py", new)
        versions = [run(python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])").stdout.strip() for python in (old, new)]
        self.assertNotEqual(*versions)
        self.assertEqual((result.stderr, result.returncode), ("", 0))
        self.assertEqual(result.stdout, f"plug-in: content types, Python {versions[0]}\nplug-in: capitals, Python {versions[1]}\n"
                         "TEXT/HTML charset=utf-8 q=1\nIMAGE/PNG\ncharacters that plug-ins have counted: 36\n")

    def test_a_plugin_that_does_not_load_and_one_that_raises(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/first.py", "w") as file:
                file.write("about = 'numbers'\ndef edit(line): return str(int(line))\n")
            with open(f"{folder}/second.py", "w") as file:
                file.write("import nothing_of_that_name\n")
            python = find_python("3.11") or find_python("3.12") or find_python("3.13") or find_python("3.14")
            result = self.plugins(f"{folder}/first.py", python, f"{folder}/second.py", python)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"second.py: not loaded: .*No module named 'nothing_of_that_name'\n")
            self.assertEqual(result.stderr.count("it is left out from now on"), 1)
            self.assertTrue(result.stdout.endswith(f"{self.LINES}characters that plug-ins have counted: 0\n"), result.stdout)


class Shop(unittest.TestCase):
    CUSTOMERS = ["ann", "bob", "cid", "dan"]

    def test_a_server_in_cxx_whose_rules_are_python(self):
        """What the workers have in common is the server's: together they sell what is there, and no more."""
        def buy(customer):
            with socket.create_connection(("127.0.0.1", port), 60) as connection, connection.makefile("rw") as lines:
                answers = []
                for order in ["apple 7"] * 40 + ["pear 4", "plum 1", "apple", "apple 0"]:
                    print(f"{customer} {order}", file=lines, flush=True)
                    answers.append(lines.readline())
                return answers

        with Background(f"{BUILD}/examples/shop_cc", f"{EXAMPLES}/shop/rules.py", "3", until=r"^\d+\n") as server:
            port = int(server.output)
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                found = list(pool.map(buy, self.CUSTOMERS))
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(60), 0, server.output)
            output = server.output
        sold = {item: sum(int(count) for answers in found for line in answers for count in re.findall(rf": (\d+) of {item} for", line))
                for item in ("apple", "pear")}
        self.assertEqual(output, f"{port}\napple: {1000 - sold['apple']} left\npear: {10 - sold['pear']} left\n")
        self.assertTrue(900 < sold["apple"] <= 1000 and 4 <= sold["pear"] <= 10, sold)
        for name, answers in zip(self.CUSTOMERS, found, strict=True):
            self.assertEqual(answers[0], f"{name}: 7 of apple for 3.50\n")
            self.assertEqual(answers[-3:], [f"error: {name}, we sell no plum\n", "error: 'NoneType' object has no attribute 'groups'\n",
                                            f"{name}: no apple is left\n"])

    def test_rules_that_do_not_load_end_the_server_with_the_reason(self):
        with tempfile.NamedTemporaryFile("w", suffix=".py") as rules:
            rules.write("from shop import nothing\n")
            rules.flush()
            result = run(f"{BUILD}/examples/shop_cc", rules.name, "2")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"^shop: .*cannot import name 'nothing' from 'shop'")


if __name__ == "__main__":
    unittest.main()
