# SPDX-License-Identifier: MIT
"""What editors show: gdb as a debug adapter (gdb 14 and newer), with our scripts."""

import json
import os
import queue
import subprocess
import threading
import unittest

import harness


COUNT = 2
SLEEP = "import time\ndef outer():\n    time.sleep(0.1)\nouter()\n"


def has_dap():
    return "unrecognized" not in harness.run(harness.GDB, "-nx", "-q", "-batch", "-i", "dap").stderr


class Adapter:
    """gdb at the other end of a pipe: requests, their answers, and events."""

    def __init__(self, *options):
        env = {name: value for name, value in os.environ.items() if name != "DEBUGINFOD_URLS"}
        self.process = subprocess.Popen([harness.GDB, "-nx", "-q", "-i", "dap", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env)
        self.messages, self.events, self.answers, self.number = queue.Queue(), [], {}, 0
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        """Whatever comes, until gdb ends."""
        while line := self.process.stdout.readline():
            if line.startswith(b"Content-Length:"):
                self.process.stdout.readline()
                self.messages.put(json.loads(self.process.stdout.read(int(line.split(b":")[1]))))

    def send(self, command, **arguments):
        self.number += 1
        text = json.dumps({"seq": self.number, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()
        return self.number

    def wait(self, wanted):
        """Take messages until one is @wanted; it is returned."""
        while True:
            message = self.messages.get(timeout=harness.TIMEOUT)
            if message["type"] == "response":
                self.answers[message["request_seq"]] = message
            if wanted(message):
                return message

    def event(self, *names):
        return self.wait(lambda message: message["type"] == "event" and message["event"] in names)

    def answer(self, number):
        if number not in self.answers:
            self.wait(lambda message: message.get("request_seq") == number)
        assert self.answers[number]["success"], self.answers[number]
        return self.answers[number].get("body")

    def request(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def close(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


@harness.needs_gdb
class Dap(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not has_dap():
            raise unittest.SkipTest("this gdb is no debug adapter: it is older than 14")
        # (frames of the stopped thread, what the scripts and an expression say in its innermost one)
        cls.stops = []
        adapter = Adapter("-iex", "set debuginfod enabled off", "-x", harness.GDB_SCRIPT)
        try:
            adapter.request("initialize", clientID="test", adapterID="gdb")
            launched = adapter.send("launch", program=harness.HOST,
                                    args=["-n", str(COUNT), "-p", harness.PYTHON3, SLEEP])
            adapter.request("setFunctionBreakpoints", breakpoints=[{"name": "time_sleep"}])
            adapter.request("configurationDone")
            adapter.answer(launched)
            while (event := adapter.event("stopped", "exited"))["event"] == "stopped":
                thread = event["body"]["threadId"]
                frames = adapter.request("stackTrace", threadId=thread)["stackFrames"]
                frame = frames[0]["id"]
                interp = adapter.request("evaluate", expression="$gorgon_interp($pc)", frameId=frame)["result"]
                scopes = adapter.request("scopes", frameId=frame)["scopes"]
                place = next(scope["variablesReference"] for scope in scopes if scope["name"] == "Arguments")
                variables = adapter.request("variables", variablesReference=place)["variables"]
                names = [variable["name"] for variable in variables]
                cls.stops.append((event["body"]["reason"], int(interp), frames, names))
                adapter.request("continue", threadId=thread)
            cls.exit = event["body"]["exitCode"]
        finally:
            adapter.close()

    def test_each_interpreter_stops_at_the_function(self):
        self.assertEqual(sorted(interp for _, interp, _, _ in self.stops), list(range(COUNT)))
        for reason, _, _, _ in self.stops:
            self.assertIn("breakpoint", reason)
        self.assertEqual(self.exit, 0)

    def test_frames_of_private_code_are_labelled_as_in_bt(self):
        for _, interp, frames, _ in self.stops:
            names = [frame["name"] for frame in frames]
            label = f" from {harness.SONAME} [interp {interp}]"
            self.assertEqual(names[0], "time_sleep" + label)
            self.assertIn("_PyEval_EvalFrameDefault" + label, names)
            # The host's own are as ever, and no frame belongs to somebody else.
            self.assertIn("run", "\n".join(name for name in names if "[interp" not in name))
            self.assertEqual([name for name in names if "[interp" in name and not name.endswith(label)], [])

    def test_source_and_arguments_are_those_of_the_copy(self):
        for _, _, frames, names in self.stops:
            self.assertEqual(frames[0]["source"]["name"], "timemodule.c")
            self.assertGreater(frames[0]["line"], 0)
            self.assertIn("timeout_obj", names)


if __name__ == "__main__":
    unittest.main()
