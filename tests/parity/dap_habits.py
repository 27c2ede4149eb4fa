# SPDX-License-Identifier: MIT
"""The table for debug adapters: what somebody does in an editor (dap_sessions.py)."""

from habits import ALL, BREAK, CODE, DATA, PROCESS, STACK, STEP, Habit as H

LOOP = """
        breakpoint cext.c:[in the loop]
        continue
"""
HELPER = """
        breakpoint cext.c:[middle of helper]
        continue
"""

HABITS = [
    H("a breakpoint in the margin", HELPER + "locals", BREAK),
    H("a breakpoint in each thread", HELPER + "continue", BREAK, turn=ALL),
    H("a breakpoint in C++", """
        breakpoint cxxext.cc:[in Cube::area]
        continue
        stack 2""", BREAK),
    H("a breakpoint in CPython", """
        breakpoint timemodule.c:{time_sleep}
        continue
        stack 1""", BREAK),
    H("two breakpoints in a file", """
        breakpoint cext.c:[middle of helper]
        breakpoint cext.c:[in cext_twice]
        continue
        continue""", BREAK),
    H("a breakpoint in a library that is not loaded yet", """
        breakpoint lateext.c:[in late_add]
        continue
        stack 2
        locals""", BREAK, turn={"number": 500}, alone=True),
    H("the margin shows that breakpoints are bound", HELPER + "verified", BREAK),
    H("a conditional breakpoint", """
        breakpoint cext.c:[in the loop] | condition i == 3
        continue
        watch i""", BREAK),
    H("a condition on an argument, in each thread", """
        breakpoint cext.c:[middle of helper] | condition n == 10
        continue
        watch n""", BREAK, turn=ALL),
    H("a hit count", """
        breakpoint cext.c:[in the loop] | hits 4
        continue
        watch i""", BREAK),
    H("a log point", """
        breakpoint cext.c:[in the loop] | log the sum is {sum}
        breakpoint cext.c:[after the loop]
        continue
        output ^the.sum""", BREAK),
    H("a function breakpoint", """
        function cext_square
        continue
        locals""", BREAK),
    H("a function breakpoint on a static function", """
        function cext_twice
        continue
        locals""", BREAK),
    H("a function breakpoint on a method", """
        function geometry::Cube::area
        continue
        stack 2""", BREAK),
    H("a function breakpoint in CPython", """
        function PyArg_ParseTuple
        continue
        stack 1""", BREAK),
    H("a function breakpoint on a static function of CPython", """
        function time_sleep
        continue
        stack 1""", BREAK),
    H("a conditional function breakpoint", """
        function factorial | condition n == 2
        continue
        stack 3""", BREAK),
    H("a breakpoint is taken away", HELPER + """
        remove cext.c
        continue""", BREAK),
    H("an exception of C++ is thrown", """
        exceptions cpp_throw
        continue
        stack 3""", BREAK),
    H("a data breakpoint on a local variable", LOOP + """
        data sum
        continue
        watch sum""", BREAK),
    H("locals and arguments", """
        breakpoint cext.c:[last line of helper]
        continue
        locals""", DATA),
    H("thread-local variables among the locals", LOOP + "threadlocals", DATA, excuses=("thread-local locals",)),
    H("locals of a caller", HELPER + "locals 1", DATA),
    H("members of a structure", """
        breakpoint cext.c:[last line of helper]
        continue
        members copy""", DATA),
    H("containers of C++", """
        breakpoint cxxext.cc:[end of collect]
        continue
        members numbers
        locals""", DATA),
    H("a watch", LOOP + """
        watch sum + n
        watch sizeof(sum)
        hover n""", DATA),
    H("a watch of globals", LOOP + """
        watch counter
        watch corner.x
        watch table[2]
        watch calls""", DATA),
    H("a watch of a thread-local variable", LOOP + """
        watch depth
        watch inner_depth""", DATA),
    H("a watch that calls a function", HELPER + """
        watch cext_square(9)
        watch factorial(5)""", DATA),
    H("a watch in a caller's frame", HELPER + "caller n", DATA),
    H("a Python object", """
        function cext_work
        continue
        watch args->ob_type->tp_name
        watch PyTuple_Size(args)""", DATA),
    H("a local variable is set", HELPER + """
        set local 1000
        watch local
        stepOut""", DATA),
    H("a global is set", LOOP + """
        watch counter = 7000
        next
        next
        watch counter""", DATA),
    H("the call stack", HELPER + "stack 3", STACK),
    H("the call stack into CPython", HELPER + "stack 6", STACK, excuses=("on through the evaluation loop",)),
    H("the files of the call stack", HELPER + "paths 2", STACK),
    H("scopes", HELPER + "scopes", STACK),
    H("threads", HELPER + "threads ^host", STACK, turn=ALL),
    H("step over", HELPER + """
        next
        next
        next""", STEP),
    H("step into", """
        breakpoint cext.c:[helper calls cext_twice]
        continue
        stepIn
        next
        next""", STEP),
    H("step into a method", """
        function geometry::Cube::area
        continue
        stepIn
        stepOut""", STEP),
    H("step out", """
        function cext_square
        continue
        stepOut""", STEP),
    H("step out of an extension", """
        function cext_work
        continue
        stepOut
        stack 1""", STEP),
    H("step by instructions", """
        function cext_square
        continue
        instruction
        instruction""", STEP),
    H("disassembly", """
        function cext_square
        continue
        disassemble 4""", CODE),
    H("modules", HELPER + "modules ^cext", CODE),
    H("pause", "pause", PROCESS, alone=True),
    H("attach", """
        breakpoint cext.c:[middle of helper]
        continue
        stack 2
        locals""", PROCESS, attach=True, alone=True),
    H("attach, and leave the program alone", HELPER + """
        remove
        disconnect""", PROCESS, attach=True, alone=True),
    H("a signal", """
        continue
        stack 1""", PROCESS, turn={"number": 600}, alone=True),
    H("a crash", """
        continue
        stack 1
        locals""", PROCESS, turn={"number": 601}, alone=True),
    H("the program's end", HELPER + """
        remove
        watch turn.stop = 1
        continue""", PROCESS, alone=True),
]
