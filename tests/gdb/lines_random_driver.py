# SPDX-License-Identifier: MIT
"""Runs inside gdb or lldb: random commands. At each stop the debugger's Python frames are compared
with what Python says of its own stack, and their variables with Python's."""
import ast
import os
import random
import re
import sys

PROGRAM = "lines_random.py"
FOLDER, SEED, STEPS = os.environ["FOLDER"], os.environ["SEED"], int(os.environ["STEPS"])
QUESTION = (f"open({FOLDER + '/answer'!r}, 'w').write(repr([(f.f_code.co_qualname, n, {{name: str(value) for name, value in "
            f"f.f_locals.items() if type(value) is int and f.f_code.co_name != '<module>'}}) for f, n in "
            f"__import__('traceback').walk_stack(__import__('sys')._getframe()) "
            f"if f.f_code.co_filename.endswith({PROGRAM!r})]))")
with open(os.environ["PATH_OF_PROGRAM"]) as file:
    LINES = [n for n, line in enumerate(file, 1) if line.startswith("    ")
             and not any(word in line for word in (" def ", "@", "print(", "# once", "finally:", "else:", "nonlocal"))
             and line.strip(" ),\n")]
with open(os.environ["PATH_OF_PROGRAM"]) as file:
    BEGINS = {n for n, line in enumerate(file, 1) if line.lstrip().startswith(("def ", "async def ", "@"))}
with open(os.environ["PATH_OF_PROGRAM"]) as file:
    NAMES = [f"lines_random.{match[1]}" for match in re.finditer(r"^def (\w+)(?!.*# once)", file.read(), re.M)]
OURS = "number", "py"
EVALUATOR = "_PyEval_EvalFrameDefault", "python_frame"
HIDDEN = ("python_line_leave", "python_tracer", "gorgon_")  # where no step ends
STUB_SIZE = 24 if os.uname().machine == "aarch64" else 16  # lines/arch.h
chosen = random.Random(SEED)


class Ended(Exception):
    pass


def has_begun(thread):
    """Whether the program runs in this thread; what starts Python raises and catches exceptions, too."""
    return os.path.exists(f"{FOLDER}/begin.{thread}")


class Gdb:
    def __init__(self):
        import gdb
        self.gdb = gdb

    def do(self, command, line=None):
        words = {"break": f"tbreak {PROGRAM}:{line}", "enter": f"tbreak {line}", "advance": f"advance {PROGRAM}:{line}", "raise": "tbreak python_exception_raised", "delete": "delete"}
        try:
            return self.gdb.execute(words.get(command, command), to_string=True)
        except self.gdb.error as error:
            raise Ended(error) from error

    def thread_number(self):
        thread = self.gdb.selected_thread()
        if not thread:
            raise Ended("the program")
        return thread.ptid[1]

    def function(self):
        """The newest frame's."""
        return self.gdb.newest_frame().name()

    def is_inside(self):
        """Whether the newest frame is in the middle of a Python line."""
        frame = self.gdb.newest_frame()
        return self.is_python(frame) and frame.pc() != frame.find_sal().pc

    def is_at_line(self):
        return self.is_python(self.gdb.newest_frame())

    @staticmethod
    def is_python(frame):
        symtab = frame.find_sal().symtab
        return symtab is not None and os.path.basename(symtab.filename) == PROGRAM

    def stack(self):
        frame, found = self.gdb.newest_frame(), []
        while frame:
            if self.is_python(frame):
                found.append((frame.name().partition(".")[2], frame.find_sal().line))
            frame = frame.older()
        return found

    def values(self):
        frame, found = self.gdb.newest_frame(), []
        while frame:
            if self.is_python(frame):
                found.append({each.name: each.value(frame).string() for each in frame.block() if each.name not in OURS})
            frame = frame.older()
        return found

    def ask(self):
        frame = self.gdb.newest_frame()
        while not self.is_python(frame):
            frame = frame.older()
        frame.select()
        self.do("disable")  # another thread may have a lock that this one needs: all of them run
        answer = self.do(f'print py("{QUESTION}")')
        self.do("enable")
        self.gdb.newest_frame().select()
        return answer

    def select_caller(self):
        """The next older frame at a Python line."""
        frame = self.gdb.newest_frame().older()
        while not self.is_python(frame):
            frame = frame.older()
        frame.select()

    def stacks(self):
        return self.do("thread apply all bt 20")


class Lldb:
    def __init__(self):
        import lldb
        self.lldb, self.debugger = lldb, lldb.debugger
        self.debugger.SetAsync(False)

    def do(self, command, line=None):
        words = {"break": f"breakpoint set --one-shot true -f {PROGRAM} -l {line}", "enter": f"breakpoint set --one-shot true -n {line}", "run": "run",
                 "raise": "breakpoint set --one-shot true -n python_exception_raised", "until": "thread step-over", "next": "thread step-over",
                 "step": "thread step-in", "finish": "thread step-out"}
        answer = self.lldb.SBCommandReturnObject()
        target = self.debugger.GetSelectedTarget()
        thread = target.process.GetSelectedThread()
        if command == "delete":
            return target.DeleteAllBreakpoints()
        # The context of the command that runs this file is from before the program began.
        context = self.lldb.SBExecutionContext(thread if thread.IsValid() else target)
        self.debugger.GetCommandInterpreter().HandleCommand(words.get(command, command), context, answer)
        if not answer.Succeeded() or command not in ("break", "raise") and target.process.state != self.lldb.eStateStopped:
            raise Ended(answer.GetError() or target.process.state)
        self.choose(target.process)
        return answer.GetOutput()

    def choose(self, process):
        """lldb may have selected a thread that has registered code at that moment, before its program ran."""
        reasons = self.lldb.eStopReasonBreakpoint, self.lldb.eStopReasonPlanComplete
        for thread in (process.GetSelectedThread(), *process):
            if thread.GetStopReason() in reasons and has_begun(thread.GetThreadID()):
                process.SetSelectedThread(thread)
                break

    def thread_number(self):
        return self.debugger.GetSelectedTarget().process.GetSelectedThread().GetThreadID()

    def frames(self):
        return self.debugger.GetSelectedTarget().process.GetSelectedThread().frames

    def function(self):
        return self.frames()[0].GetFunctionName()

    @staticmethod
    def is_python(frame):
        return frame.GetLineEntry().GetFileSpec().GetFilename() == PROGRAM

    def is_inside(self):
        frame, target = self.frames()[0], self.debugger.GetSelectedTarget()
        start = frame.GetFunction().GetStartAddress().GetLoadAddress(target)
        return self.is_python(frame) and (frame.GetPC() - start) % STUB_SIZE != 0

    def is_at_line(self):
        return self.is_python(self.frames()[0])

    def stack(self):
        return [(frame.GetFunctionName().partition(".")[2], frame.GetLineEntry().GetLine())
                for frame in self.frames() if self.is_python(frame)]

    def values(self):
        return [{each.GetName(): each.GetSummary().strip('"') for each in frame.GetVariables(True, True, False, True)
                 if each.GetName() not in OURS} for frame in self.frames() if self.is_python(frame)]

    def ask(self):
        options = self.lldb.SBExpressionOptions()
        options.SetIgnoreBreakpoints(True)
        options.SetTryAllThreads(False)
        options.SetStopOthers(True)
        options.SetTimeoutInMicroSeconds(100000000)  # who is interrupted leaves Python's lock in any state
        frame = next(filter(self.is_python, self.frames()), None)
        if not frame:
            raise Ended("no Python frame")
        value = frame.EvaluateExpression(f'py("{QUESTION}")', options)
        if not value.GetError().Success():
            raise Ended(value.GetError())
        return value.GetSummary()

    def select_caller(self):
        self.frames()[0].thread.SetSelectedFrame(next(i for i, frame in enumerate(self.frames()) if i and self.is_python(frame)))

    def stacks(self):
        process = self.debugger.GetSelectedTarget().process
        return "\n".join(f"{thread}{' selected' * (thread == process.GetSelectedThread())} {[f'{frame}' for frame in list(thread.frames)[:20]]}"
                         for thread in process)


def told(debugger):
    answer = debugger.ask()
    with open(FOLDER + "/answer") as file:
        text = file.read()
    os.remove(FOLDER + "/answer")
    if not text:
        raise Ended(f"Python answers {answer}")
    return ast.literal_eval(text)


def differences(values, theirs, may_be_unread):
    """Of arguments and locals that are integers, from the oldest frame. The 32 newest have texts, at Python lines."""
    for depth, (mine, (function, _, others)) in enumerate(zip(reversed(values), reversed(theirs))):
        for name, text in others.items():
            if name != "__firstlineno__" and mine.get(name) != text and not (mine.get(name) == "(not read)" and (may_be_unread or len(values) - depth > 32)):
                yield f"{function}: {name} is {mine.get(name)}, Python {text}"


def check(debugger, command):
    # After the last line of a function the debugger is in the caller's line already, or in a caller without lines.
    inside = debugger.is_inside() or debugger.function() == "python_code"
    mine, values, theirs = debugger.stack(), debugger.values(), told(debugger)
    wrong = list(differences(values, theirs, inside or not debugger.is_at_line()))
    theirs = [(function, line) for function, line, _ in theirs]
    right = mine == theirs or (inside and mine == theirs[1:])
    if not right and command == "step" and mine and mine[0][1] in BEGINS:  # a generator that goes on is entered at its first line
        right |= mine[0][0] == theirs[0][0] and mine[1:] == theirs[1:]
    right &= not (debugger.function() or "").startswith(HIDDEN)
    print("same" if right and not wrong else f"differs: {command}: debugger {mine}, Python {theirs} {wrong}\n{debugger.do('bt')}")


def session(debugger):
    done = []  # for who reads what went wrong
    try:
        debugger.do("break", chosen.choice(LINES))
        debugger.do(os.environ["BEGIN"])
        check(debugger, "begin")
        for _ in range(STEPS):
            command = chosen.choice(["next"] * 6 + ["step"] * 3 + ["finish"] * 2 + ["break"] * 4 + ["raise", "until", "enter", "outer", "advance"])
            if command == "outer":
                command = "next"
                if len(debugger.stack()) > 2 and debugger.is_at_line():
                    debugger.select_caller()
                    done.append("up")
                    command = "finish"
            # Behind the module's own frame there is no Python any more. From CPython 3.12 on one call of the evaluator,
            # which ends with the module, may run all of them.
            if command == "finish" and done[-1:] != ["up"] and (len(debugger.stack()) < 2 or debugger.function() in EVALUATOR):
                command = "next"
            # In a function that has no lines LLDB steps into an instruction's call, and gdb's "until" goes on and on. At a loop's end
            # it waits for the end of the loop, and that of the module has none. Nor does it compare the frames of a recursion.
            names = [name for name, _ in debugger.stack()[:2]]
            if (command in ("step", "until") and not debugger.is_at_line()) or (command == "until" and len(set(names)) < 2):
                command = "next"
            if command == "advance" and hasattr(debugger, "lldb"):
                command = "break"
            if command in ("break", "raise", "enter"):
                line = chosen.choice(NAMES if command == "enter" else LINES)
                done.append(f"{command} {line}")
                debugger.do(command, line)
                command = "continue"
            done.append(command)
            debugger.do(command, chosen.choice(LINES))
            while not has_begun(debugger.thread_number()):
                debugger.do("raise")
                debugger.do("continue")
            check(debugger, done[-2:] if command == "continue" else command)
        debugger.do("delete")
        open(os.path.join(os.environ["FOLDER"], "end"), "w").close()
        print("end")
    except Ended as error:
        print("ended:", error, "after", done)
        print(debugger.stacks())


session(Gdb() if hasattr(sys.modules.get("gdb"), "execute") else Lldb())
