# SPDX-License-Identifier: MIT
"""Sessions of an editor with a debug adapter, for the same bench as those at a terminal (sessions.py).

What is "typed" is what somebody does in an editor, a line each:

    breakpoint cext.c:[in the loop]     a click in the margin; "| condition n == 2", "| log {n}", "| hits 2" may follow
    function helper                     a function breakpoint, with the same
    exceptions cpp_throw                a tick in the list of exceptions
    data counter                        break when the value changes, in the menu of a variable
    continue, next, stepIn, stepOut     the buttons, up to the next stop
    stack 3, locals, arguments, members corner, watch EXPRESSION, hover EXPRESSION, set NAME VALUE, threads, ...

Nothing is typed into the debugger, but that the hosts' `turn` is set, by an expression as for a watch."""

import os
import re
import time

import dap_client
import harness
from sessions import SECONDS, Lost, children, resolved

STOPS = 4  # until the program is in turn_sync() again
THREAD_LOCAL = ("depth", "inner_depth")  # of cext.c
SETTLING = 0.3  # in which an adapter says of breakpoints what has changed


class Dap:
    """What the adapters have in common. They say how they are started, and with what configuration of docs/launch.json."""

    def __init__(self, variant, folder):
        self.variant, self.folder = variant, folder
        self.client, self.host, self.stop = dap_client.Client(self.command(), self.NAME, timeout=SECONDS), None, None
        self.forget()

    def forget(self):
        self.lines, self.functions, self.seen = {}, [], 0

    # ---- what the bench asks for ---------------------------------------------------

    def configuration(self, request, **changes):
        scripts = self.variant.kind == "scripts"
        return dap_client.launch_json(f"{self.CONFIGURATION}: {request}", type=None, cwd=None,
                                      **({} if scripts else self.PLAIN), **changes)

    def run(self):
        program, *arguments = self.variant.command
        return self.begin_session(self.client.launch, self.configuration("launch", program=program, args=arguments))

    def attach(self):
        self.host = harness.Background(*self.variant.command, until="", asleep=1)
        return self.begin_session(self.client.attach, self.configuration("attach", pid=self.host.pid))

    def begin_session(self, start, arguments):
        arguments.pop("debuggerArgs", None)
        try:
            start(arguments, functions=["turn_sync"])
            self.stop = self.client.stopped()
        except (AssertionError, OSError) as error:
            raise Lost(str(error)) from None
        if not self.stop:
            raise Lost("the program has ended")
        return []

    def begin(self, turn):
        who = turn.get("who", -1) % self.variant.count
        left = self.variant.count if turn.get("left") == "all" else turn.get("left", 1)
        frame = self.client.frames(self.stop, 1)[0]
        for name, value in (("who", who), ("number", turn.get("number", 10)), ("left", left)):
            self.client.evaluate(f"turn.{name} = {value}", frame)
        self.forget()
        self.seen = len(self.client.output)
        self.functions = [{"name": "turn_sync"}]
        self.client.set_functions(self.functions)

    def type(self, lines):
        for line in lines:
            line = line.strip()
            word, _, rest = resolved(line, self.folder).partition(" ")
            try:
                yield line, getattr(self, f"do_{word}")(rest) or ""
            except dap_client.Refused as error:
                yield line, f"refused: {error}"
            except (AssertionError, OSError) as error:
                raise Lost(str(error)) from None

    def again(self):
        """Back to turn_sync(), with nothing left of a habit."""
        try:
            for path in self.lines:
                self.client.set_lines(path, [])
            self.client.request("setExceptionBreakpoints", filters=[])
            if self.client.capabilities.get("supportsDataBreakpoints"):
                self.client.request("setDataBreakpoints", breakpoints=[])
            self.client.set_functions([{"name": "turn_sync"}])
            for _ in range(STOPS):
                if not self.stop:
                    return False
                self.client.resume(self.stop)
                self.stop = self.client.stopped()
                if self.stop and self.place().startswith("turn_sync"):
                    return True
        except (AssertionError, OSError):
            pass
        return False

    def close(self):
        programs = [] if self.host else [pid for child in children(self.client.process.pid) for pid in (*children(child), child)]
        self.client.__exit__()
        for pid in programs:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                pass
        if self.host:
            self.host.stop()
            self.host = None

    # ---- breakpoints -----------------------------------------------------------------

    @staticmethod
    def options(text):
        where, *more = (part.strip() for part in text.split("|"))
        keys = {"condition": "condition", "log": "logMessage", "hits": "hitCondition"}
        return where, {keys[option.partition(" ")[0]]: option.partition(" ")[2] for option in more}

    def do_breakpoint(self, text):
        where, options = self.options(text)
        name, line = where.rsplit(":", 1)
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
        path = path if os.path.exists(path) else name
        self.lines.setdefault(path, []).append({"line": int(line), **options})
        self.client.set_lines(path, self.lines[path])

    def do_function(self, text):
        name, options = self.options(text)
        self.functions.append({"name": name, **options})
        self.client.set_functions(self.functions)

    def do_remove(self, text):
        for path in [path for path in self.lines if not text or path.endswith(text)]:
            self.client.set_lines(path, [])
            del self.lines[path]

    def do_exceptions(self, text):
        self.client.request("setExceptionBreakpoints", filters=text.split())

    def do_data(self, text):
        """dataBreakpointInfo for a variable of the frame, then the breakpoint."""
        frame = self.frame()
        found = [scope["variablesReference"] for scope in self.client.request("scopes", frameId=frame["id"])["scopes"]
                 if any(v["name"] == text for v in self.variables(scope["variablesReference"]))]
        if not found or not self.client.capabilities.get("supportsDataBreakpoints"):
            return "this adapter has no data breakpoints"
        info = self.client.request("dataBreakpointInfo", variablesReference=found[0], name=text)
        if not info.get("dataId"):
            return f"no: {info.get('description')}"
        answer = self.client.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"], "accessType": "write"}])
        return f"verified: {answer['breakpoints'][0]['verified']}"

    def do_verified(self, _):
        """What the margin shows: a breakpoint that is bound is filled."""
        end = time.monotonic() + SETTLING
        while time.monotonic() < end:
            self.client.request("threads")
        return "\n".join(f"{place.get('verified')} line {place.get('line')}" for place in self.client.latest)

    # ---- running -----------------------------------------------------------------------

    def frame(self, number=0):
        return self.client.frames(self.stop)[number]

    def place(self):
        frame = self.client.frames(self.stop, 1)[0]
        return self.shown(frame)

    @staticmethod
    def shown(frame):
        source = (frame.get("source") or {}).get("name")
        return f"{frame['name']} at {source}:{frame['line']}" if source else frame["name"]

    def stopped(self):
        if not self.stop:
            return f"ended, exit code {self.client.exit_code}"
        return f"{self.stop.reason}: {self.place()}"

    def do_continue(self, _):
        self.client.resume(self.stop)
        self.stop = self.client.stopped()
        return self.stopped()

    def step(self, how):
        self.stop = self.client.step(self.stop, how)
        return self.stopped()

    def do_next(self, _):
        return self.step("next")

    def do_stepIn(self, _):
        return self.step("stepIn")

    def do_stepOut(self, _):
        return self.step("stepOut")

    def do_instruction(self, _):
        self.client.events = [e for e in self.client.events if e["event"] != "stopped"]
        self.client.request("next", threadId=self.stop.thread, granularity="instruction")
        self.stop = self.client.stopped()
        return self.stopped()

    def do_pause(self, _):
        """While nobody has a turn."""
        self.client.set_functions([])
        self.client.resume(self.stop)
        time.sleep(SETTLING)
        self.client.request("pause", threadId=self.stop.thread)
        self.stop = self.client.stopped()
        return "paused" if self.stop else self.stopped()

    def do_disconnect(self, _):
        """The program goes on, where it was attached to."""
        self.client.request("disconnect", terminateDebuggee=not self.host)
        return f"alive: {bool(self.host and self.host.process.poll() is None)}"

    # ---- looking -----------------------------------------------------------------------

    def do_stack(self, text):
        return "\n".join(self.shown(frame) for frame in self.client.frames(self.stop, int(text)))

    def do_paths(self, text):
        """The files that the editor would open."""
        return "\n".join(frame["source"]["path"] for frame in self.client.frames(self.stop, int(text)))

    def do_scopes(self, _):
        return "\n".join(scope["name"] for scope in self.client.request("scopes", frameId=self.frame()["id"])["scopes"])

    def variables(self, place):
        return self.client.request("variables", variablesReference=place)["variables"]

    def values(self, number, wanted):
        found = self.client.variables(self.frame(number), "Locals", "Arguments")
        return "\n".join(sorted(f"{name} = {value}" for name, value in found.items() if wanted(name)))

    def do_locals(self, text):
        return self.values(int(text or 0), lambda name: name not in THREAD_LOCAL)

    def do_threadlocals(self, _):
        """lldb-dap has them among the locals."""
        return self.values(0, THREAD_LOCAL.__contains__)

    def do_members(self, text):
        name, _, number = text.partition(" ")
        for scope in self.client.request("scopes", frameId=self.frame(int(number or 0))["id"])["scopes"]:
            for variable in self.variables(scope["variablesReference"]):
                if variable["name"] == name and variable["variablesReference"]:
                    inner = self.variables(variable["variablesReference"])
                    return "\n".join(f"{v['name']} = {v['value']}" for v in inner)
        return "none"

    def do_watch(self, text):
        return self.client.evaluate(text, self.frame())

    def do_hover(self, text):
        return self.client.evaluate(text, self.frame(), "hover")

    def do_caller(self, text):
        return self.client.evaluate(text, self.frame(1))

    def do_set(self, text):
        name, _, value = text.partition(" ")
        for scope in self.client.request("scopes", frameId=self.frame()["id"])["scopes"]:
            place = scope["variablesReference"]
            if any(v["name"] == name for v in self.variables(place)):
                return self.client.request("setVariable", variablesReference=place, name=name, value=value).get("value", "no answer")
        return "there is no such variable"

    def do_threads(self, text):
        return "\n".join(sorted(name for name in self.client.threads().values() if re.search(text, name)))

    def do_output(self, text):
        return "\n".join(line for line in self.client.output[self.seen:].splitlines() if re.search(text, line))

    def do_exceptionInfo(self, _):
        body = self.client.request("exceptionInfo", threadId=self.stop.thread)
        return f"{body['exceptionId']}: {body.get('description')}"

    def do_disassemble(self, text):
        frame = self.client.frames(self.stop, 1)[0]
        body = self.client.request("disassemble", memoryReference=frame["instructionPointerReference"], instructionCount=int(text))
        return "\n".join(i["instruction"] for i in body["instructions"])

    def do_modules(self, text):
        body = self.client.request("modules")
        return "\n".join(sorted({m["name"] for m in body["modules"] if re.search(text, m["name"])}))


class LldbDap(Dap):
    NAME, CONFIGURATION = "lldb-dap", "lldb-dap"
    PLAIN = {"initCommands": None, "customFrameFormat": None, "customThreadFormat": None}

    @staticmethod
    def command():
        return [dap_client.find_lldb_dap()]


class GdbDap(Dap):
    NAME, CONFIGURATION = "gdb", "gdb"
    PLAIN = {}

    def command(self):
        scripts = dap_client.launch_json("gdb: launch")["debuggerArgs"] if self.variant.kind == "scripts" else []
        return [harness.GDB, "-nx", "-q", "-i", "dap", "-iex", "set debuginfod enabled off", *scripts]
