# SPDX-License-Identifier: MIT
"""The debug adapter of CodeLLDB, as far as liblldb can tell: for each request of an editor the calls of lldb's API that
CodeLLDB 1.12 makes for it, in its order, over the Debug Adapter Protocol on standard input and output.

    /some/folder/codelldb tests/lldb/codelldb.py < requests > answers

The program is a Python of that name: CodeLLDB's is no Python and no lldb either. What is CodeLLDB's alone and not lldb's
(terminals, its views) is not here. What is:

- one debugger, asynchronous, without init files; `initCommands` before there is a target, `preRunCommands` before it runs
- source breakpoints by the whole path; breakpoints of functions, also by a regular expression; of exceptions; of data
- a native callback at each breakpoint, on lldb's thread, which waits for what the session is doing: it evaluates
  conditions, counts hits and writes log messages
- simple expressions, `/py ` and `/nat `: names are looked for among the frame's variables, its file's, the registers, and only
  then evaluated; conditions that are not native are Python's
- what stands for a pointer is its object, with the object's own summary"""

import ast
import contextlib
import ctypes
import io
import json
import os
import queue
import re
import sys
import threading

import lldb

SET_CALLBACK = "_ZN4lldb12SBBreakpoint11SetCallbackEPFbPvRNS_9SBProcessERNS_8SBThreadERNS_20SBBreakpointLocationEES1_"
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
RUNNING = (lldb.eStateRunning, lldb.eStateStepping, lldb.eStateAttaching, lldb.eStateLaunching)
REASONS = {lldb.eStopReasonBreakpoint: "breakpoint", lldb.eStopReasonWatchpoint: "data breakpoint", lldb.eStopReasonTrace: "step",
           lldb.eStopReasonPlanComplete: "step", lldb.eStopReasonSignal: "exception", lldb.eStopReasonException: "exception"}
NAMES = (lldb.eValueTypeVariableGlobal, lldb.eValueTypeVariableStatic, lldb.eValueTypeRegister, lldb.eValueTypeConstResult)
INTEGERS = {lldb.eBasicTypeShort, lldb.eBasicTypeInt, lldb.eBasicTypeLong, lldb.eBasicTypeLongLong, lldb.eBasicTypeSignedChar}
SCOPES = {"Local": (True, True, False, None), "Static": (False, False, True, lldb.eValueTypeVariableStatic),
          "Global": (False, False, True, lldb.eValueTypeVariableGlobal)}
BYTES_MAX = 16  # the longest instruction
SUMMARY_MAX = 32


class Refused(Exception):
    """The adapter refuses the request."""


def look_up(frame, name):
    """What a name stands for in a simple expression."""
    value = frame.FindVariable(name)
    for kind in NAMES:
        value = value if value.IsValid() else frame.FindValue(name, kind)
    if not value.IsValid():
        value = frame.GetValueForVariablePath(name)
    return value if value.IsValid() else checked(frame.EvaluateExpression(name))


def checked(value):
    if value.GetError().Fail():
        raise Refused(value.GetError().GetCString())
    return value


def plain(value):
    """A number or a text of Python's for a value of the program's."""
    if not isinstance(value, lldb.SBValue):
        return value
    kind = value.GetType().GetCanonicalType()
    if kind.GetBasicType() in INTEGERS:
        return value.GetValueAsSigned()
    return (value.GetSummary() or "").strip('"') if kind.GetBasicType() == lldb.eBasicTypeInvalid else value.GetValueAsUnsigned()


class Names(dict):
    """The variables that an expression of Python's sees."""

    def __init__(self, frame):
        super().__init__()
        self.frame = frame

    def __missing__(self, name):
        return Value(look_up(self.frame, name))


class Value:
    """What a name in a simple expression is to Python: operators take its number or text."""

    def __init__(self, value):
        self.value = value

    def __getattr__(self, name):
        value = self.value.Dereference() if self.value.GetType().IsPointerType() else self.value
        return Value(value.GetChildMemberWithName(name))

    def __getitem__(self, index):
        return Value(self.value.GetValueForExpressionPath(f"[{index}]"))


def operator(name):
    return lambda self, other: getattr(plain(self.value), name)(plain(other.value if isinstance(other, Value) else other))


for _name in "lt le gt ge eq ne add sub mul and or mod".split():
    setattr(Value, f"__{_name}__", operator(f"__{_name}__"))


def evaluate(frame, text):
    """An SBValue, or what Python makes of one or several."""
    if text.startswith("/nat "):
        return checked(frame.EvaluateExpression(text[5:]))
    text = text.removeprefix("/py ").removeprefix("/se ").replace("&&", " and ").replace("||", " or ").replace("->", ".")
    try:
        found = eval(compile(ast.parse(text.strip(), mode="eval"), "<input>", "eval"), {"__builtins__": {}}, Names(frame))
    except SyntaxError as error:
        raise Refused(f"Syntax error: {error}") from None
    return found.value if isinstance(found, Value) else found


def summary(value):
    """A value in a view, or in a log message."""
    if not isinstance(value, lldb.SBValue):
        return str(value)
    if value.GetError().Fail():
        return f"<{value.GetError().GetCString()}>"
    if value.GetType().IsPointerType():
        simple = value.GetType().GetPointeeType().GetBasicType() != lldb.eBasicTypeInvalid
        if (value.IsSynthetic() or simple) and value.GetSummary():
            return value.GetSummary()
        if not value.GetValueAsUnsigned(0):
            return "<null>"
        pointee = value.Dereference()
        if pointee.IsValid():
            if not pointee.GetData().GetByteSize():
                return "<invalid address>"
            value = pointee
    text = value.GetSummary() or value.GetValue()
    if text is None and value.MightHaveChildren():
        parts = []
        for child in value:
            if len(", ".join(parts)) > SUMMARY_MAX:
                parts.append("...")
                break
            if child.GetSummary() or child.GetValue():
                parts.append(f"{child.GetName()}:{child.GetSummary() or child.GetValue()}")
        text = "{" + (", ".join(parts) or "...") + "}"
    return text or "<not available>"


class Breakpoint:
    """A breakpoint that the client has set."""

    def __init__(self, breakpoint, wanted):
        self.breakpoint, self.hits = breakpoint, 0
        self.condition, self.message = wanted.get("condition"), wanted.get("logMessage")
        self.times = wanted.get("hitCondition")


class Session:
    def __init__(self, output):
        self.output, self.number, self.sending = output, 0, threading.Lock()
        self.lock = threading.RLock()  # the client, lldb and a breakpoint's callback take turns
        self.todo = queue.Queue()
        self.debugger = lldb.SBDebugger.Create(False)
        self.debugger.SetAsync(True)
        self.listener = self.debugger.GetListener()
        self.listener.StartListeningForEventClass(self.debugger, lldb.SBThread.GetBroadcasterClassName(), 0xffffffff)
        self.target = self.debugger.GetDummyTarget()
        self.breakpoints, self.by_place, self.handles, self.waiting = {}, {}, [None], None
        self.terminates, self.modules_told, self.callbacks = False, set(), []
        self.set_callback = ctypes.CDLL(lldb._lldb.__file__)[SET_CALLBACK]
        self.set_callback.argtypes = [ctypes.c_void_p, CALLBACK, ctypes.c_void_p]
        self.set_callback.restype = None

    # ---- messages --------------------------------------------------------------

    def send(self, message):
        with self.sending:
            self.number += 1
            text = json.dumps(dict(message, seq=self.number)).encode()
            self.output.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
            self.output.flush()

    def event(self, name, **body):
        self.send({"type": "event", "event": name, "body": body})

    def say(self, text, category="console"):
        self.event("output", category=category, output=f"{text}\n")

    def answer(self, request, body=None, problem=None):
        self.send({"type": "response", "request_seq": request["seq"], "command": request["command"], "success": problem is None,
                   "body": body or {}, "message": problem or ""})

    def read(self, source):
        while line := source.readline():
            if line.startswith(b"Content-Length:"):
                source.readline()
                self.todo.put(("request", json.loads(source.read(int(line.split(b":")[1])))))
        self.todo.put(("end", None))

    def listen(self):
        while True:
            event = lldb.SBEvent()
            if self.listener.WaitForEvent(1, event):
                self.todo.put(("event", event))

    def run(self, source):
        for function, arguments in ((self.read, (source,)), (self.listen, ())):
            threading.Thread(target=function, args=arguments, daemon=True).start()
        while True:
            kind, what = self.todo.get()
            if kind == "end":
                return
            with self.lock:
                self.heard(what) if kind == "event" else self.handle(what)

    def handle(self, request):
        function = getattr(self, f"on_{request['command']}", None)
        try:
            if function is None:
                raise Refused("Not implemented.")
            self.request = request
            body = function(**request.get("arguments") or {})
        except Refused as error:
            self.answer(request, problem=str(error))
            return
        if body is not NotImplemented:
            self.answer(request, body)

    # ---- beginning and end -----------------------------------------------------

    def on_initialize(self, **_):
        return {"supportsConfigurationDoneRequest": True, "supportsConditionalBreakpoints": True, "supportsLogPoints": True,
                "supportsFunctionBreakpoints": True, "supportsDataBreakpoints": True, "supportsDisassembleRequest": True,
                "exceptionBreakpointFilters": [{"filter": "cpp_throw", "label": "C++: on throw", "default": True},
                                               {"filter": "cpp_catch", "label": "C++: on catch"}]}

    def on_launch(self, program, initCommands=(), **launch):
        self.execute(initCommands)
        self.debugger.SetInternalVariable("auto-confirm", "true", self.debugger.GetInstanceName())
        self.begin(program, lambda: self.complete_launch(**launch))
        return NotImplemented

    def on_attach(self, pid, program=None, initCommands=(), **attach):
        self.execute(initCommands)
        self.debugger.SetInternalVariable("auto-confirm", "true", self.debugger.GetInstanceName())
        self.begin(program, lambda: self.complete_attach(int(pid), **attach))
        return NotImplemented

    def begin(self, program, complete):
        error = lldb.SBError()
        target = self.debugger.CreateTarget(program or "", None, None, False, error)
        if error.Fail():
            raise Refused(error.GetCString())
        self.listener.StopListeningForEvents(self.target.GetBroadcaster(), 0xffffffff)
        self.target = target
        self.listener.StartListeningForEvents(target.GetBroadcaster(), 0xffffffff)
        self.waiting = self.request, complete
        self.event("initialized")

    def on_configurationDone(self, **_):
        request, complete = self.waiting
        try:
            complete()
        except Refused as error:
            self.answer(request, problem=str(error))
        else:
            self.answer(request)
        return {}

    def complete_launch(self, args=(), cwd=None, env=None, preRunCommands=(), stopOnEntry=False, **_):
        launch = self.target.GetLaunchInfo()
        environment = self.debugger.GetSelectedPlatform().GetEnvironment()
        for name, value in (env or {}).items():
            environment.Set(name, value, True)
        launch.SetEnvironment(environment, False)
        launch.SetArguments(list(args), False)
        if cwd:
            launch.SetWorkingDirectory(cwd)
        if stopOnEntry:
            launch.SetLaunchFlags(launch.GetLaunchFlags() | lldb.eLaunchFlagStopAtEntry)
        self.target.SetLaunchInfo(launch)
        self.execute(preRunCommands)
        launch, error = self.target.GetLaunchInfo(), lldb.SBError()
        self.say(f"Launching: {self.target.GetExecutable()}")
        self.target.Launch(launch, error)
        if error.Fail():
            raise Refused(error.GetCString())
        self.terminates = True

    def complete_attach(self, pid, preRunCommands=(), stopOnEntry=False, **_):
        self.execute(preRunCommands)
        info, error = lldb.SBAttachInfo(), lldb.SBError()
        info.SetProcessID(pid)
        info.SetWaitForLaunch(False, False)
        info.SetIgnoreExisting(False)
        process = self.target.Attach(info, error)
        if error.Fail():
            raise Refused(f"Could not attach: {error.GetCString()}")
        if stopOnEntry:
            self.stopped()
        else:
            process.Continue()

    def execute(self, commands):
        result = lldb.SBCommandReturnObject()
        for command in commands:
            result.Clear()
            self.debugger.GetCommandInterpreter().HandleCommand(command, result, False)
            if result.GetOutput():
                self.say(result.GetOutput())
            if not result.Succeeded():
                raise Refused(result.GetError())
        self.debugger.SetAsync(True)

    def on_disconnect(self, terminateDebuggee=None, **_):
        process = self.target.GetProcess()
        if process.IsValid() and process.is_alive:
            if self.terminates if terminateDebuggee is None else terminateDebuggee:
                process.Kill()
            else:
                process.Detach()
        return {}

    # ---- breakpoints -----------------------------------------------------------

    def on_setBreakpoints(self, source, breakpoints, **_):
        path = source["path"]
        return self.set_all(("source", path), [(b["line"], b) for b in breakpoints],
                            lambda line, b: self.create_by_location(path, line, b.get("column")))

    def create_by_location(self, path, line, column):
        return self.target.BreakpointCreateByLocation(lldb.SBFileSpec(path), line, column or 0, 0, lldb.SBFileSpecList())

    def on_setFunctionBreakpoints(self, breakpoints, **_):
        def create(name, _wanted):
            return self.target.BreakpointCreateByRegex(name[4:]) if name.startswith("/re ") else self.target.BreakpointCreateByName(name)
        return self.set_all(("functions",), [(b["name"], b) for b in breakpoints], create)

    def on_setInstructionBreakpoints(self, breakpoints, **_):
        return self.set_all(("instructions",), [(int(b["instructionReference"], 0) + b.get("offset", 0), b) for b in breakpoints],
                            lambda address, _wanted: self.target.BreakpointCreateByAddress(address))

    def on_setExceptionBreakpoints(self, filters, filterOptions=(), **_):
        def create(name, _wanted):
            breakpoint = self.target.BreakpointCreateForException(lldb.eLanguageTypeC_plus_plus, name == "cpp_catch", name == "cpp_throw")
            breakpoint.AddName("cpp_exception")
            return breakpoint
        return self.set_all(("exceptions",), [(name, {}) for name in filters] + [(o["filterId"], o) for o in filterOptions], create)

    def set_all(self, group, wanted, create):
        """Give a group of breakpoints all that the client wants, and remove all others."""
        known, found, answers = self.by_place.get(group, {}), {}, []
        for key, what in wanted:
            breakpoint = self.target.FindBreakpointByID(known[key]) if key in known else create(key, what)
            if not breakpoint.IsValid():
                breakpoint = create(key, what)
            self.breakpoints[breakpoint.GetID()] = Breakpoint(breakpoint, what)
            condition = what.get("condition", "")
            if condition.startswith("/nat "):
                breakpoint.SetCondition(condition[5:])
            self.call_back(breakpoint)
            answers.append(self.described(breakpoint))
            # A file that is not found by its whole path is looked for by its name, to say so.
            if group[0] == "source" and not breakpoint.GetNumLocations():
                hint = self.create_by_location(os.path.basename(group[1]), key, what.get("column"))
                list(hint.locations)
                self.target.BreakpointDelete(hint.GetID())
            found[key] = breakpoint.GetID()
        for key, number in known.items():
            if key not in found:
                self.target.BreakpointDelete(number)
                self.breakpoints.pop(number, None)
        self.by_place[group] = found
        return {"breakpoints": answers}

    def call_back(self, breakpoint):
        number = breakpoint.GetID()

        def hit(_baton, _process, thread, _location):
            found = lldb.SBThread()
            ctypes.memmove(int(found.this), thread, 16)  # it is lldb's, for as long as this runs
            found.this.disown()
            with self.lock:
                return self.is_hit(self.breakpoints.get(number), found)

        self.callbacks.append(CALLBACK(hit))
        self.set_callback(int(breakpoint.this), self.callbacks[-1], None)

    def is_hit(self, known, thread):
        """Whether the program is to stop."""
        if known is None:
            return True
        frame = thread.GetFrameAtIndex(0)
        try:
            if known.condition and not known.condition.startswith("/nat ") and not plain(evaluate(frame, known.condition)):
                return False
        except Refused as error:
            self.say(f"Could not evaluate breakpoint condition:\n{error}", "stderr")
            return True
        known.hits += 1
        if known.times and not self.is_due(known):
            return False
        if known.message:
            self.say(re.sub(r"\{(.*?)\}", lambda found: self.logged(frame, found[1]), known.message))
            return False
        return True

    def is_due(self, known):
        how, count = re.fullmatch(r"\s*(<=?|>=?|==?|%)?\s*(\d+)\s*", known.times).groups()
        count = int(count)
        return {"<": known.hits < count, "<=": known.hits <= count, ">": known.hits > count, ">=": known.hits >= count,
                "%": known.hits % count == 0}.get(how, known.hits == count)

    def logged(self, frame, text):
        try:
            return summary(evaluate(frame, text))
        except Refused as error:
            return f"{{Error: {error}}}"

    def described(self, breakpoint):
        """A breakpoint as the client is told of it."""
        there = breakpoint.GetNumLocations()
        body = {"id": breakpoint.GetID(), "verified": there > 0, "message": f"Resolved locations: {breakpoint.GetNumResolvedLocations()}"}
        line = breakpoint.GetLocationAtIndex(0).GetAddress().GetLineEntry() if there else None
        return dict(body, line=line.GetLine()) if line and line.IsValid() else body

    def on_dataBreakpointInfo(self, name, variablesReference=0, frameId=0, **_):
        if variablesReference:
            frame, scope = self.handles[variablesReference]
            found = scope.GetChildMemberWithName(name) if isinstance(scope, lldb.SBValue) else frame.FindVariable(name) if scope == "Local" \
                else frame.FindValue(name, SCOPES[scope][3])
        else:
            found = evaluate(self.handles[frameId], name)
        if not isinstance(found, lldb.SBValue) or found.GetLoadAddress() == lldb.LLDB_INVALID_ADDRESS:
            return {"dataId": None, "description": "This value doesn't have an address."}
        return {"dataId": f"{found.GetLoadAddress()}/{found.GetByteSize()}", "description": found.GetName(), "accessTypes": ["write"]}

    def on_setDataBreakpoints(self, breakpoints, **_):
        self.target.DeleteAllWatchpoints()
        answers = []
        for wanted in breakpoints:
            address, size = map(int, wanted["dataId"].split("/"))
            error, how = lldb.SBError(), wanted.get("accessType", "write")
            watchpoint = self.target.WatchAddress(address, size, how != "write", how != "read", error)
            answers.append({"verified": error.Success(), "id": watchpoint.GetID() + 1000 if error.Success() else None,
                            "message": error.GetCString() or ""})
        return {"breakpoints": answers}

    # ---- what lldb says --------------------------------------------------------

    def heard(self, event):
        if lldb.SBProcess.EventIsProcessEvent(event):
            self.heard_of_process(event)
        elif lldb.SBTarget.EventIsTargetEvent(event):
            self.heard_of_modules(event)
        elif lldb.SBBreakpoint.EventIsBreakpointEvent(event):
            self.heard_of_breakpoint(event)

    def heard_of_process(self, event):
        process = self.target.GetProcess()
        if event.GetType() & (lldb.SBProcess.eBroadcastBitSTDOUT | lldb.SBProcess.eBroadcastBitSTDERR):
            while text := process.GetSTDOUT(1024):
                self.event("output", category="stdout", output=text)
        if not event.GetType() & lldb.SBProcess.eBroadcastBitStateChanged:
            return
        state = lldb.SBProcess.GetStateFromEvent(event)
        if state in RUNNING:
            self.event("continued", threadId=process.GetThreadAtIndex(0).GetThreadID(), allThreadsContinued=True)
        elif state in (lldb.eStateStopped, lldb.eStateCrashed, lldb.eStateSuspended):
            if not lldb.SBProcess.GetRestartedFromEvent(event):
                self.stopped()
        elif state == lldb.eStateExited:
            self.say(f"Process exited with code {process.GetExitStatus()}.")
            self.event("exited", exitCode=process.GetExitStatus())
            self.event("terminated")
        elif state == lldb.eStateDetached:
            self.event("terminated")

    def stopped(self):
        process = self.target.GetProcess()
        thread = process.GetSelectedThread()
        if thread.GetStopReason() in (lldb.eStopReasonInvalid, lldb.eStopReasonNone):
            for other in process:
                if other.GetStopReason() not in (lldb.eStopReasonInvalid, lldb.eStopReasonNone):
                    process.SetSelectedThread(other)
                    thread = other
                    break
        reason = REASONS.get(thread.GetStopReason(), "unknown")
        body = {"hitBreakpointIds": [thread.GetStopReasonDataAtIndex(0)]} if reason == "breakpoint" else {}
        if reason in ("exception", "unknown"):
            body["description"] = thread.GetStopDescription(256)
        self.event("stopped", allThreadsStopped=True, threadId=thread.GetThreadID(), reason=reason, **body)

    def heard_of_modules(self, event):
        kinds = {lldb.SBTarget.eBroadcastBitModulesLoaded: "new", lldb.SBTarget.eBroadcastBitSymbolsLoaded: "changed",
                 lldb.SBTarget.eBroadcastBitModulesUnloaded: "removed"}
        reason = next((word for bit, word in kinds.items() if event.GetType() & bit), None)
        for i in range(lldb.SBTarget.GetNumModulesFromEvent(event) if reason else 0):
            module = lldb.SBTarget.GetModuleAtIndexFromEvent(i, event)
            self.event("module", reason=reason, module=self.module(module) if reason != "removed" else {"id": self.module_id(module)})

    def heard_of_breakpoint(self, event):
        breakpoint, kind = lldb.SBBreakpoint.GetBreakpointFromEvent(event), lldb.SBBreakpoint.GetBreakpointEventTypeFromEvent(event)
        number = breakpoint.GetID()
        if kind == lldb.eBreakpointEventTypeAdded:
            # A breakpoint that somebody has typed in the console; those of the client are known.
            if number not in self.breakpoints and breakpoint.IsValid():
                self.breakpoints[number] = Breakpoint(breakpoint, {})
                self.event("breakpoint", reason="new", breakpoint=self.described(breakpoint))
        elif kind in (lldb.eBreakpointEventTypeLocationsAdded, lldb.eBreakpointEventTypeLocationsResolved):
            if number in self.breakpoints:
                self.event("breakpoint", reason="changed", breakpoint=self.described(breakpoint))
        elif kind == lldb.eBreakpointEventTypeRemoved and self.breakpoints.pop(number, None):
            self.event("breakpoint", reason="removed", breakpoint={"id": number})

    def module_id(self, module):
        address = module.GetObjectFileHeaderAddress()
        return f"{address.GetLoadAddress(self.target):X}" if address.IsValid() else str(module.GetFileSpec())

    def module(self, module):
        ends = [section.GetLoadAddress(self.target) + section.GetByteSize() for section in module.section_iter()
                if section.GetLoadAddress(self.target) != lldb.LLDB_INVALID_ADDRESS]
        symbols = "Source debug info" if module.GetNumCompileUnits() else "Public symbols only" if module.GetNumSymbols() else "No symbols"
        return {"id": self.module_id(module), "name": module.GetFileSpec().GetFilename(), "path": module.GetFileSpec().fullpath,
                "symbolStatus": symbols, "addressRange": f"{self.module_id(module)} - {max(ends, default=0):X}",
                "symbolFilePath": module.GetSymbolFileSpec().fullpath}

    def on_modules(self, **_):
        return {"modules": [self.module(module) for module in self.target.module_iter()]}

    # ---- a stop ----------------------------------------------------------------

    def thread(self, number):
        thread = self.target.GetProcess().GetThreadByID(number)
        if not thread.IsValid():
            raise Refused("Invalid thread_id.")
        return thread

    def keep(self, what):
        self.handles.append(what)
        return len(self.handles) - 1

    def on_threads(self, **_):
        return {"threads": [{"id": t.GetThreadID(), "name": f"{t.GetIndexID()}: tid={t.GetThreadID()}" + (f' "{t.GetName()}"' if t.GetName() else "")}
                            for t in self.target.GetProcess()]}

    def on_stackTrace(self, threadId, startFrame=0, levels=0, **_):
        thread, found = self.thread(threadId), []
        for i in range(startFrame, startFrame + (levels or 1000)):
            frame = thread.GetFrameAtIndex(i)
            if not frame.IsValid():
                break
            address, entry = frame.GetPCAddress(), frame.GetLineEntry()
            body = {"id": self.keep(frame), "instructionPointerReference": f"{address.GetLoadAddress(self.target):#x}",
                    "name": frame.GetFunctionName() or f"{address.GetFileAddress():X}", "line": 0, "column": 0,
                    "moduleId": self.module_id(frame.GetModule()) if frame.GetModule().IsValid() else None}
            if entry.IsValid() and os.path.isfile(entry.GetFileSpec().fullpath or ""):  # files that nobody has are not shown
                body.update(line=entry.GetLine(), column=entry.GetColumn(), source={
                    "name": entry.GetFileSpec().GetFilename(), "path": entry.GetFileSpec().fullpath})
            found.append(body)
        return {"stackFrames": found, "totalFrames": thread.GetNumFrames()}

    def on_scopes(self, frameId, **_):
        frame = self.handles[frameId]
        return {"scopes": [{"name": name, "variablesReference": self.keep((frame, name)), "expensive": False}
                           for name in (*SCOPES, "Registers")]}

    def on_variables(self, variablesReference, **_):
        frame, scope = self.handles[variablesReference]
        if isinstance(scope, lldb.SBValue):
            values = list(scope)
        elif scope == "Registers":
            values = list(frame.GetRegisters())
        else:
            arguments, locals_, statics, kind = SCOPES[scope]
            values = [v for v in frame.GetVariables(arguments, locals_, statics, True) if kind is None or v.GetValueType() == kind]
        returned = frame.GetThread().GetStopReturnValue() if scope == "Local" else None
        found = {v.GetName(): self.variable(frame, v) for v in values}
        if returned and returned.IsValid():
            found = {"[return value]": dict(self.variable(frame, returned), name="[return value]"), **found}
        return {"variables": list(found.values())}

    def variable(self, frame, value):
        children = value.MightHaveChildren() and value.GetNumChildren() > 0
        return {"name": value.GetName() or "", "value": summary(value), "type": value.GetDisplayTypeName(),
                "variablesReference": self.keep((frame, value)) if children else 0}

    def on_setVariable(self, variablesReference, name, value, **_):
        frame, scope = self.handles[variablesReference]
        found = scope.GetChildMemberWithName(name) if isinstance(scope, lldb.SBValue) else frame.FindVariable(name)
        error = lldb.SBError()
        if not found.SetValueFromCString(value, error):
            raise Refused(error.GetCString() or "Could not set variable value.")
        return {"value": summary(found)}

    def on_evaluate(self, expression, frameId=0, context="watch", **_):
        frame = self.handles[frameId]
        if context == "repl" and not expression.startswith("?"):
            result = lldb.SBCommandReturnObject()
            interpreter = self.debugger.GetCommandInterpreter()
            if frame:
                interpreter.HandleCommand(expression, lldb.SBExecutionContext(frame), result, False)
            else:
                interpreter.HandleCommand(expression, result, False)
            if not result.Succeeded():
                raise Refused(result.GetError().strip())
            return {"result": result.GetOutput() or "", "variablesReference": 0}
        value = evaluate(frame, expression.removeprefix("?"))
        children = isinstance(value, lldb.SBValue) and value.MightHaveChildren() and value.GetNumChildren() > 0
        return {"result": summary(value), "variablesReference": self.keep((frame, value)) if children else 0}

    def before_resume(self):
        self.handles = [None]

    def on_continue(self, **_):
        self.before_resume()
        error = self.target.GetProcess().Continue()
        if error.Fail():
            raise Refused(error.GetCString())
        return {"allThreadsContinued": True}

    def on_next(self, threadId, granularity="line", **_):
        self.before_resume()
        thread = self.thread(threadId)
        thread.StepInstruction(True) if granularity == "instruction" else thread.StepOver(lldb.eOnlyDuringStepping)
        return {}

    def on_stepIn(self, threadId, granularity="line", **_):
        self.before_resume()
        thread = self.thread(threadId)
        thread.StepInstruction(False) if granularity == "instruction" else thread.StepInto(lldb.eOnlyDuringStepping)
        return {}

    def on_stepOut(self, threadId, **_):
        self.before_resume()
        self.thread(threadId).StepOut()
        return {}

    def on_pause(self, **_):
        self.target.GetProcess().Stop()
        return {}

    def on_exceptionInfo(self, threadId, **_):
        thread = self.thread(threadId)
        return {"exceptionId": REASONS.get(thread.GetStopReason(), ""), "description": thread.GetStopDescription(256), "breakMode": "always"}

    # ---- code ------------------------------------------------------------------

    def on_disassemble(self, memoryReference, instructionCount, instructionOffset=0, offset=0, **_):
        at = int(memoryReference, 0) + offset
        before, after = max(0, -instructionOffset), max(0, instructionCount + instructionOffset)
        start, error = at - before * BYTES_MAX, lldb.SBError()
        data = self.target.GetProcess().ReadMemory(start, (before + after) * BYTES_MAX, error)
        if error.Fail():
            raise Refused(error.GetCString())
        for skipped in range(BYTES_MAX):  # until one of them begins where it is to
            found = self.decode(start + skipped, data[skipped:])
            index = next((i for i, one in enumerate(found) if one[0] == at), None)
            if index is not None:
                break
        else:
            raise Refused(f"Failed to disassemble memory at {at:#x}.")
        return {"instructions": [one[1] for one in found[max(0, index + instructionOffset):index + instructionOffset + instructionCount]]}

    def decode(self, start, data):
        """[(address, the instruction for the client)]"""
        found = []
        while data:
            instructions = self.target.GetInstructions(lldb.SBAddress(start, self.target), data)
            if not instructions.GetSize():
                found.append((start, {"address": f"{start:#x}", "instruction": f".byte {data[0]:#x}"}))
                start, data = start + 1, data[1:]
            for one in instructions:
                address, entry = one.GetAddress(), one.GetAddress().GetLineEntry()
                comment = one.GetComment(self.target)
                body = {"address": f"{start:#x}", "instruction": f"{one.GetMnemonic(self.target):<6} {one.GetOperands(self.target)}"
                        + (f"  ; {comment}" if comment else ""), "symbol": address.GetSymbol().GetName() or ""}
                if entry.IsValid():
                    body.update(line=entry.GetLine(), location={"name": entry.GetFileSpec().GetFilename()})
                found.append((start, body))
                start, data = start + one.GetByteSize(), data[one.GetByteSize():]
        return found

    def on_readMemory(self, memoryReference, count, offset=0, **_):
        error = lldb.SBError()
        data = self.target.GetProcess().ReadMemory(int(memoryReference, 0) + offset, count, error)
        if error.Fail():
            raise Refused(error.GetCString())
        return {"address": memoryReference, "data": data.hex()}


if __name__ == "__main__":
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever else is printed is no message
    with contextlib.suppress(BrokenPipeError):
        Session(output).run(io.open(0, "rb"))
    lldb.SBDebugger.Terminate()
    sys.stdout.flush()
