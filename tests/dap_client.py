# SPDX-License-Identifier: MIT
"""An editor, as far as debug adapters can tell: the Debug Adapter Protocol over a pipe.

    with dap_client.Client(["lldb-dap-19"]) as client:
        client.launch({"program": ..., "args": [...]}, lines={path: [12]}, functions=["f"])
        stop = client.stopped()
        client.variables(client.frames(stop)[0], "Locals")
        client.resume(stop)

Nothing is typed: what a debugger is to know stands in the arguments of the request that starts the session, as in an
editor's launch.json. Whoever waits waits for an event or an answer; what hangs ends by the client's timeout."""

import collections
import contextlib
import json
import os
import queue
import shutil
import subprocess
import threading

import harness

# An editor connects to the port. This program passes on what it says and what is answered.
RELAY = """\
import os, socket, sys, threading
connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
def answers():
    while data := connection.recv(65536):
        os.write(1, data)
threading.Thread(target=answers, daemon=True).start()
while data := os.read(0, 65536):
    connection.sendall(data)
"""

# reason: "breakpoint", "step" ...; thread: its id
Stop = collections.namedtuple("Stop", "reason thread")


def launch_json(name, **changes):
    """The configuration with this name in docs/launch.json, as an editor gives it to the adapter. @changes are what
    a user would change."""
    with open(os.path.join(harness.ROOT, "docs", "launch.json")) as file:
        text = "".join(line for line in file if not line.lstrip().startswith("//"))
    found = next(c for c in json.loads(text)["configurations"] if c["name"] == name)
    text = json.dumps(found).replace("/usr/local/share/gorgon", harness.ROOT)
    return {key: value for key, value in {**json.loads(text), **changes}.items() if value is not None}


class Refused(AssertionError):
    """The adapter has refused a request."""


class Client:
    def __init__(self, command, adapter="test", env=None, timeout=harness.TIMEOUT):
        environment = dict(os.environ, **(env or {}))
        environment.pop("DEBUGINFOD_URLS", None)
        self.adapter, self.number, self.queue = adapter, 0, queue.Queue()
        self.events, self.answers, self.output, self.places = [], {}, "", {}
        self.timeout, self.exit_code, self.capabilities, self.latest = timeout, None, {}, []
        self.process = subprocess.Popen([str(c) for c in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=environment)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()

    # ---- messages --------------------------------------------------------------

    def read(self):
        """Read messages until the adapter ends."""
        try:
            while line := self.process.stdout.readline():
                if line.startswith(b"Content-Length:"):
                    self.process.stdout.readline()
                    self.queue.put(json.loads(self.process.stdout.read(int(line.split(b":")[1]))))
        finally:  # also where the adapter has ended in the middle of a message
            self.queue.put(None)

    def take(self):
        """Put a message where it belongs."""
        try:
            message = self.queue.get(timeout=self.timeout)
        except queue.Empty:
            raise AssertionError(f"the adapter says nothing; it has written:\n{self.output}") from None
        if message is None:
            self.queue.put(None)
            raise AssertionError(f"the adapter has ended, status {self.process.wait(10)}; it has written:\n{self.output}")
        if message["type"] == "response":
            self.answers[message["request_seq"]] = message
        elif message["event"] == "output":
            self.output += message["body"]["output"]
        elif message["event"] == "breakpoint":
            self.remember(message["body"]["breakpoint"])
        elif message["type"] == "event":
            self.events.append(message)

    def send(self, command, **arguments):
        self.number += 1
        text = json.dumps({"seq": self.number, "type": "request", "command": command, "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.process.stdin.flush()
        return self.number

    def answer(self, number):
        while number not in self.answers:
            self.take()
        found = self.answers.pop(number)
        if not found["success"]:
            raise Refused(str(found.get("message") or found.get("body")))
        return found.get("body") or {}

    def request(self, command, **arguments):
        return self.answer(self.send(command, **arguments))

    def event(self, *names):
        """The next event with one of these names; other events stay for later calls."""
        while True:
            for message in self.events:
                if message["event"] in names:
                    self.events.remove(message)
                    return message
            self.take()

    # ---- a session ---------------------------------------------------------------

    def start(self, request, arguments, lines=None, functions=(), exceptions=()):
        """launch or attach. @lines: {path: [line, or the whole breakpoint as a dictionary]}; @functions: names, or
        dictionaries, too; @exceptions: filters."""
        self.capabilities = self.request("initialize", clientID="test", adapterID=self.adapter, linesStartAt1=True,
                     columnsStartAt1=True, pathFormat="path", supportsRunInTerminalRequest=False)
        started = self.send(request, **arguments)
        self.event("initialized")
        for path, wanted in (lines or {}).items():
            self.set_lines(path, wanted)
        if functions:
            self.set_functions(functions)
        if exceptions:
            self.request("setExceptionBreakpoints", filters=list(exceptions))
        self.request("configurationDone")
        self.answer(started)
        # Editors ask for the threads now, while the program runs already. To the first such request lldb-dap 21 answers which threads
        # there were before that, at whatever time the request comes.
        with contextlib.suppress(Refused):
            self.request("threads")

    def launch(self, arguments, **breakpoints):
        self.start("launch", arguments, **breakpoints)

    def attach(self, arguments, **breakpoints):
        self.start("attach", arguments, **breakpoints)

    def remember(self, place):
        """Keep what the adapter says of a breakpoint, at first and whenever that changes."""
        known = self.places.setdefault(place.get("id"), {"seen": False})
        known.update(place)
        known["seen"] |= place.get("verified", False)  # at the program's end a breakpoint is not verified any more
        return place.get("id")

    def set_lines(self, path, wanted):
        """Set breakpoints in a file; returns their ids."""
        breakpoints = [{"line": line} if isinstance(line, int) else line for line in wanted]
        answer = self.request("setBreakpoints", source={"path": path, "name": os.path.basename(path)},
                              breakpoints=breakpoints)
        ids = [self.remember(place) for place in answer["breakpoints"]]
        self.latest = [self.places[i] for i in ids]
        return ids

    def set_functions(self, wanted):
        answer = self.request("setFunctionBreakpoints", breakpoints=[
            {"name": name} if isinstance(name, str) else name for name in wanted])
        return [self.remember(place) for place in answer["breakpoints"]]

    def stopped(self):
        """The next Stop, or None when the program has ended. Several threads may have stopped at once: the Stop is
        that of the thread that an editor would bring to the front."""
        while True:
            message = self.event("stopped", "exited", "terminated")
            if message["event"] != "stopped":
                self.exit_code = message.get("body", {}).get("exitCode")
                return None
            body = message["body"]
            if not body.get("preserveFocusHint"):
                return Stop(body["reason"], body["threadId"])

    def resume(self, stop):
        self.events = [e for e in self.events if e["event"] != "stopped"]
        self.request("continue", threadId=stop.thread)

    def step(self, stop, how="next"):
        """next, stepIn or stepOut; returns the Stop at its end."""
        self.events = [e for e in self.events if e["event"] != "stopped"]
        self.request(how, threadId=stop.thread)
        return self.stopped()

    def frames(self, stop, levels=0):
        return self.request("stackTrace", threadId=stop.thread, startFrame=0, levels=levels)["stackFrames"]

    def threads(self):
        """{id: name}"""
        return {thread["id"]: thread["name"] for thread in self.request("threads")["threads"]}

    def variables(self, frame, *scopes):
        """{name: value} of the frame's scopes of these names."""
        return {name: value for name, (value, _) in self.places_of_variables(frame, *scopes).items()}

    def places_of_variables(self, frame, *scopes):
        found = {}
        for scope in self.request("scopes", frameId=frame["id"])["scopes"]:
            if scope["name"] in scopes:
                place = scope["variablesReference"]
                found.update((v["name"], (v["value"], place))
                             for v in self.request("variables", variablesReference=place)["variables"])
        return found

    def set_variable(self, frame, name, value):
        place = self.places_of_variables(frame, "Arguments", "Locals")[name][1]
        self.request("setVariable", variablesReference=place, name=name, value=value)

    def evaluate(self, expression, frame=None, context="watch"):
        arguments = {"frameId": frame["id"]} if frame else {}
        return self.request("evaluate", expression=expression, context=context, **arguments)["result"]

    def disconnect(self):
        self.request("disconnect", terminateDebuggee=True)


def find_lldb_dap():
    """The adapter that belongs to the lldb under test, or None."""
    if not harness.LLDB:
        return None
    folder, name = os.path.split(harness.LLDB)
    return shutil.which(os.path.join(folder, name.replace("lldb", "lldb-dap", 1)))
