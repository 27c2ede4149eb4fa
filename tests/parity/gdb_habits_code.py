# SPDX-License-Identifier: MIT
"""The table for gdb: code and symbols, the stack, stepping and calls, Python, the process."""

from habits import ALL, CODE, PROCESS, PYTHON, STACK, STEP, Habit as H

HABITS = [
    # ---- code and symbols ----------------------------------------------------------------
    H("info line FUNCTION", """
        info line cext_square
        info line cext.c:[in the loop]
        tbreak cext_square
        continue
        info line""", CODE, excuses=("a line each",)),
    H("info symbol", """
        tbreak cext_twice
        continue
        info symbol $pc
        info symbol cext_square
        info symbol &counter
        info symbol PyLong_FromLong
        info symbol time_sleep""", CODE),
    H("info address", """
        tbreak helper
        continue
        info address n
        info address counter
        info address helper
        info address calls""", CODE),
    H("info source", """
        tbreak cext_twice
        continue
        info source""", CODE),
    H("info scope", """
        info scope helper
        info scope cext.c:[in the loop]""", CODE),
    H("info functions REGEX", """
        info functions ^cext_
        info functions ^late_""", CODE),
    H("info functions of C++", """
        info functions geometry::""", CODE),
    H("info variables REGEX", """
        info variables ^counter$
        info variables ^calls$
        info variables ^inner_depth$""", CODE, keep=r"counter|calls|depth|^File .*ext"),
    H("info types REGEX", """
        info types ^point$
        info types geometry""", CODE),
    H("info sharedlibrary", """
        info sharedlibrary ext
        info sharedlibrary libpython""", CODE, keep=r"ext\.so|libpython|No shared"),
    H("info symbol and solib of a pc, in Python", """
        tbreak cext_twice
        continue
        python print(gdb.solib_name(gdb.selected_frame().pc()))
        python print(gdb.lookup_objfile("cext.so") is not None)
        python print(gdb.selected_frame().function().symtab.filename)
        python print(gdb.lookup_global_symbol("counter").value())
        python print(gdb.lookup_static_symbol("calls").value())
        python print(gdb.parse_and_eval("n"))""", CODE, excuses=("no frame",)),
    H("list FUNCTION", """
        list cext_twice
        list
        list -""", CODE),
    H("list FILE:LINE and a range", """
        list cext.c:[middle of helper]
        list cext.c:[in the loop],+2
        list late_add""", CODE),
    H("list of where it has stopped", """
        tbreak cext_twice
        continue
        list
        up
        list""", CODE),
    H("list in CPython", """
        tbreak time_sleep
        continue
        list
        info line""", CODE),
    H("disassemble", """
        tbreak cext_twice
        continue
        disassemble
        disassemble cext_square""", CODE),
    H("disassemble /s and /r", """
        tbreak apply
        continue
        disassemble /s
        disassemble /r cext_square,+4""", CODE),
    H("disassemble names the PLT", """
        tbreak helper
        continue
        disassemble helper""", CODE, keep="call"),
    H("x/i of a call", """
        tbreak cext.c:[last line of helper]
        continue
        x/8i $pc""", CODE),
    H("info frame", """
        tbreak cext_twice
        continue
        info frame""", STACK),
    # ---- the stack ------------------------------------------------------------------------
    H("bt N, bt -N", """
        tbreak cext_twice
        continue
        bt 2
        bt -1""", STACK),
    H("bt into CPython", """
        tbreak cext_twice
        continue
        bt 6""", STACK),
    H("bt, down to the thread's start", """
        tbreak cext_twice
        continue
        bt""", STACK, keep=r"^#\w+ +(ADDR in )?(cext\w+|helper|cfunction\w+|_PyEval_EvalFrameDefault|start_thread|clone3) "),
    H("bt full", """
        tbreak cext_twice
        continue
        bt full 3""", STACK),
    H("bt of C++", """
        tbreak geometry::Shape::area
        continue
        bt 4""", STACK),
    H("bt in a recursion", """
        tbreak cext.c:[the innermost factorial]
        continue
        bt 5""", STACK),
    H("bt without our filters", """
        tbreak cext_twice
        continue
        bt -no-filters 4""", STACK),
    H("bt -frame-arguments, -frame-info", """
        tbreak cext_twice
        continue
        bt -frame-arguments all -frame-info location 3""", STACK),
    H("up, down, frame", """
        tbreak cext_twice
        continue
        up
        up
        down
        frame
        frame 0""", STACK),
    H("frame function NAME, frame level", """
        tbreak cext_twice
        continue
        frame function cext_work
        info locals
        frame level 1
        print local""", STACK),
    H("up-silently, frame apply", """
        tbreak cext_twice
        continue
        up-silently
        print local
        frame apply 2 print n""", STACK, keep=r"\$N|#[012] "),
    H("info frame of a caller", """
        tbreak cext_twice
        continue
        up
        info frame""", STACK),
    H("info threads", """
        tbreak cext_twice
        continue
        info threads""", STACK, keep=r"cext_twice"),
    H("thread apply all bt 2", """
        tbreak cext_twice
        continue
        thread apply all bt 2""", STACK, keep=r"cext_twice|helper|^Thread"),
    H("thread apply all -q, thread name, thread find", """
        tbreak cext_twice
        continue
        thread apply $_thread print n
        thread apply all -q -s print $_thread == 0
        thread""", STACK),
    H("thread N and back", """
        tbreak cext_twice
        continue
        set $back = $_thread
        thread 1
        thread $back
        print n
        bt 1""", STACK, keep=r"\$N|cext_twice|main|Switching"),
    H("bt in every thread has an end", """
        thread apply all bt -1""", STACK, keep=r"clone|start|_start|^Thread"),
    # ---- stepping and calls -------------------------------------------------------------------
    H("next", """
        tbreak helper
        continue
        next
        next
        next
        next""", STEP),
    H("next over a breakpoint's line", """
        tbreak cext.c:[cext_work calls helper]
        continue
        next
        next
        print n""", STEP),
    H("step into a function", """
        tbreak cext.c:[helper calls cext_twice]
        continue
        step
        bt 2
        step
        step
        step""", STEP),
    H("step into another library", """
        tbreak cext.c:[in apply]
        continue
        step
        bt 2""", STEP),
    H("step over functions without lines", """
        tbreak cext.c:[first line of helper]
        continue
        next
        next
        step
        step""", STEP),
    H("step into C++", """
        tbreak geometry::Cube::area
        continue
        step
        bt 2
        finish""", STEP),
    H("next over a throw", """
        tbreak catcher
        continue
        next
        next
        next
        frame""", STEP),
    H("next out of an extension into CPython", """
        tbreak cext.c:[in shadow]
        continue
        next
        next
        next
        next
        next
        next
        bt 1""", STEP, keep=r"^#0|shadow|cext_work"),
    H("step in CPython", """
        tbreak time_sleep
        continue
        next
        next
        bt 1""", STEP),
    H("step N, next N", """
        tbreak helper
        continue
        next 3
        step 2
        bt 1""", STEP),
    H("stepi, nexti", """
        tbreak cext_square
        continue
        stepi
        nexti
        x/i $pc
        stepi 3
        x/i $pc""", STEP),
    H("stepi into the PLT", """
        tbreak cext.c:[cext_work returns]
        continue
        break *'PyLong_FromLong@plt'
        stepi 4
        display/i $pc
        stepi
        stepi
        stepi
        bt 1""", STEP, excuses=("of no shared library",)),
    H("finish", """
        tbreak cext_square
        continue
        finish
        print $""", STEP),
    H("finish twice, and on", """
        tbreak cext_twice
        continue
        finish
        finish
        continue""", STEP),
    H("finish of a function that returns an object", """
        tbreak PyLong_FromLong
        continue
        finish""", STEP),
    H("finish of a method", """
        tbreak geometry::Shape::scaled
        continue
        finish""", STEP),
    H("return VALUE", """
        tbreak cext_square
        continue
        return 5
        next
        frame""", STEP),
    H("jump LINE", """
        tbreak cext.c:[in cext_twice]
        tbreak cext_twice
        continue
        tbreak cext.c:[in cext_twice]
        jump cext.c:[in cext_twice]
        bt 1""", STEP),
    H("skip function", """
        skip function cext_twice
        tbreak cext.c:[helper calls cext_twice]
        continue
        step
        frame""", STEP),
    H("call a function of the extension", """
        tbreak helper
        continue
        call cext_square(9)
        print cext_twice(4)
        print factorial(5)""", STEP),
    H("call a function with an effect on its copy", """
        tbreak helper
        continue
        print counter
        call loop(1)
        print counter
        tbreak shadow
        continue
        print ::counter""", STEP),
    H("call a method", """
        tbreak cxxext.cc:[end of collect]
        continue
        print shape.area()
        print cube.scaled(3)
        print numbers.size()""", STEP),
    H("call a function of CPython", """
        tbreak time_sleep
        continue
        print PyFloat_AsDouble(timeout_obj)
        print PyObject_Size(timeout_obj)
        call PyErr_Clear()""", STEP),
    H("call PyObject_Repr, PyUnicode_AsUTF8", """
        tbreak cext_work
        continue
        print (char *)PyUnicode_AsUTF8(PyObject_Repr(args))""", STEP),
    H("call strlen of the C library", """
        tbreak helper
        continue
        print (int)strlen(name)
        print $_strlen(name)""", STEP),
    H("a breakpoint in a function that is called", """
        tbreak helper
        continue
        tbreak cext_square
        print cext_square(6)
        bt 2
        finish""", STEP),
    # ---- Python ---------------------------------------------------------------------------------
    H("py-bt", """
        tbreak time_sleep
        continue
        py-bt""", PYTHON, keep=r"compute|sleep|Trace|Undefined|File"),
    H("py-list", """
        tbreak time_sleep
        continue
        py-list""", PYTHON),
    H("py-locals", """
        tbreak time_sleep
        continue
        py-locals""", PYTHON),
    H("py-print", """
        tbreak time_sleep
        continue
        py-print number
        py-print local
        py-print sys""", PYTHON),
    H("py-up, py-down", """
        tbreak time_sleep
        continue
        py-up
        py-up
        py-down""", PYTHON),
    H("py-bt-full", """
        tbreak time_sleep
        continue
        py-bt-full""", PYTHON, keep=r"compute|time_sleep|<module>|Undefined"),
    H("print of a PyObject *", """
        tbreak cext_work
        continue
        print args
        print self
        info args
        print *args
        print args->ob_type->tp_name""", PYTHON),
    H("print of objects of other modules", """
        tbreak time_sleep
        continue
        print timeout_obj
        print self
        up
        info args""", PYTHON),
    H("print of a Python frame's objects", """
        tbreak time_sleep
        continue
        frame function _PyEval_EvalFrameDefault
        print frame->f_code->co_name
        print frame->f_code->co_filename""", PYTHON, keep=r"\$N|No symbol|optimized|No frame"),
    # ---- the process --------------------------------------------------------------------------------
    H("attach", """
        bt 1
        break helper
        continue
        bt 2
        info args
        print calls
        print counter""", PROCESS, attach=True, alone=True),
    H("attach, break FILE:LINE", """
        tbreak cext.c:[in the loop]
        continue
        next
        print i""", PROCESS, attach=True, alone=True),
    H("detach, attach again", """
        set $pid = $_inferior
        tbreak helper
        continue
        delete
        python pid = gdb.selected_inferior().pid
        detach
        python gdb.execute("attach %d" % pid)
        set var turn.left = 1
        tbreak cext_square
        python gdb.execute("continue")
        bt 1""", PROCESS, attach=True, alone=True, turn={"left": 3}, keep=r"cext_square|Detach"),
    H("gcore, and the core in another session", """
        tbreak cext_twice
        continue
        gcore {folder}/core""", PROCESS, alone=True, keep=r"^#\d|\$N|Saved|generated by|terminated", fresh="""
        core-file {folder}/core
        bt 4
        info args
        up
        info locals
        print calls
        print counter"""),
    H("the core of a crash", """
        continue
        bt 1
        print n
        gcore {folder}/crash""", PROCESS, alone=True, turn={"number": 601}, keep=r"^#\d|^ADDR in|\$N|SIGSEGV|Saved|generated by", fresh="""
        core-file {folder}/crash
        bt 2
        print n"""),
    H("rerun", """
        break helper
        tbreak time_sleep
        continue
        continue
        run
        info breakpoints
        set var turn.left = 1
        continue
        print n""", PROCESS, alone=True, keep=r"helper|time_sleep|\$N|Error|warning"),
    H("the program's end", """
        break helper
        continue
        delete
        set var turn.stop = 1
        continue
        info breakpoints
        break cext_square
        info threads""", PROCESS, alone=True, excuses=("gone with the process",)),
    H("breakpoints at the program's end", """
        break helper
        break cext.c:[in the loop] if i == 4
        continue
        set var turn.stop = 1
        continue
        continue
        info breakpoints""", PROCESS, alone=True, excuses=("gone with the process",)),
    H("kill, start", """
        tbreak helper
        continue
        kill
        start
        next
        info breakpoints""", PROCESS, alone=True, keep=r"main|host\.c|No breakpoints|helper|killed"),
    H("Ctrl-C", """
        set var turn.left = 0
        delete
        ^C continue
        thread apply all -q bt -1
        tbreak turn_sync
        continue
        bt 1""", PROCESS, keep=r"SIGINT|.\bturn_sync"),  # where Ctrl-C meets the host is chance
    H("handle SIGNAL, continue with it", """
        handle SIGUSR1 nostop noprint nopass
        tbreak time_sleep
        continue
        bt 1""", PROCESS, turn={"number": 600}, alone=True),
    H("a signal stops the program", """
        continue
        frame function cext_work
        print n
        signal 0""", PROCESS, turn={"number": 600}, alone=True),
    H("a crash: where and why", """
        continue
        bt 2
        print $_siginfo.si_signo
        print n
        info symbol $pc
        x/i $pc""", PROCESS, turn={"number": 601}, alone=True),
    H("record, reverse-step", """
        tbreak cext_square
        continue
        set scheduler-locking on
        record
        next
        next
        reverse-next
        reverse-next
        print n
        record stop
        set scheduler-locking replay""", PROCESS, alone=True),
    H("checkpoint, restart", """
        tbreak cext_square
        continue
        checkpoint
        next
        info checkpoints
        delete checkpoint 1
        bt 1""", PROCESS, alone=True, keep=r"^#0|Checkpoint|cext"),
    H("set scheduler-locking on", """
        tbreak helper
        continue
        set scheduler-locking on
        next
        finish
        set scheduler-locking replay""", PROCESS),
    H("info proc, info inferiors, info files", """
        info inferiors
        info proc exe""", PROCESS),
    H("set logging, shell, pipe", """
        tbreak helper
        continue
        pipe info locals | head -1
        with print pretty on -- print *where
        shell echo out""", PROCESS),
    H("define a command", """
        define where2
        bt 2
        info args
        end
        tbreak cext_twice
        continue
        where2""", PROCESS),
    H("a stop handler in Python", """
        python
        class Counting(gdb.Breakpoint):
            def stop(self):
                self.seen = getattr(self, "seen", []) + [int(gdb.parse_and_eval("n"))]
                return False
        counting = Counting("cext_square")
        end
        continue
        python print(counting.seen, counting.hit_count)""", PROCESS, turn=ALL),
    H("gdb.Breakpoint, gdb.FinishBreakpoint", """
        tbreak cext_twice
        continue
        python done = gdb.FinishBreakpoint(gdb.newest_frame(), internal=True)
        continue
        python print(done.return_value)
        bt 1""", PROCESS),
]
