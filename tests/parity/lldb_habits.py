# SPDX-License-Identifier: MIT
"""The table for lldb."""

from habits import ALL, BREAK, CODE, DATA, PROCESS, STACK, STEP, Habit as H

TWICE = """
        breakpoint set -o true -n cext_twice
        continue
"""
LOOP = """
        breakpoint set -o true -f cext.c -l cext.c#[in the loop]
        continue
"""


HABITS = [
    H("breakpoint command add ... continue", """
        breakpoint set -n helper -C "frame variable n" -G true
        continue""", BREAK, turn=ALL),
    H("breakpoint set -n", """
        breakpoint set -n cext_square
        continue
        frame variable n""", BREAK),
    H("breakpoint set -n of a static function", """
        b cext_twice
        continue
        frame variable n""", BREAK),
    H("breakpoint set -f -l", """
        breakpoint set -f cext.c -l cext.c#[middle of helper]
        continue
        frame variable local""", BREAK),
    H("b FILE:LINE, in each thread", """
        b cext.c:[middle of helper]
        continue
        continue
        frame variable n""", BREAK, turn=ALL),
    H("breakpoint set -M of a method", """
        breakpoint set -M scaled
        continue
        bt 1""", BREAK),
    H("breakpoint set -n CLASS::METHOD", """
        breakpoint set -n geometry::Cube::area
        continue
        bt 2""", BREAK),
    H("breakpoint set of a template", """
        breakpoint set -n biggest
        continue
        frame variable a""", BREAK),
    H("breakpoint set of overloads", """
        breakpoint set -n overloaded
        continue
        frame variable
        continue""", BREAK),
    H("breakpoint set -r", """
        breakpoint set -r ^cext_sq
        continue
        bt 1""", BREAK),
    H("breakpoint set -p, by the text of a line", """
        breakpoint set -p "in shadow" -f cext.c
        continue
        frame variable""", BREAK),
    H("breakpoint set -s LIBRARY -n", """
        breakpoint set -s cext.so -n factorial
        continue
        frame variable n""", BREAK),
    H("breakpoint set -c", """
        breakpoint set -n factorial -c "n == 2"
        continue
        frame variable n""", BREAK),
    H("breakpoint set -i", """
        breakpoint set -n factorial -i 2
        continue
        frame variable n""", BREAK),
    H("breakpoint set -o", """
        breakpoint set -o true -n factorial
        continue
        frame variable n
        continue""", BREAK),
    H("breakpoint modify, disable, enable", """
        breakpoint set -N mine -n factorial
        breakpoint modify -c "n == 3" mine
        continue
        frame variable n
        breakpoint disable mine
        continue""", BREAK, keep=r"frame #0|int\) n|turn_sync|no variable named"),
    H("breakpoint of a static function of CPython", """
        breakpoint set -o true -n time_sleep
        continue
        bt 1""", BREAK),
    H("breakpoint of a function of CPython", """
        breakpoint set -o true -n PyArg_ParseTuple
        continue
        image lookup -a $pc""", BREAK, keep="stop reason|Summary"),
    H("pending breakpoint by name", """
        breakpoint set -n late_add
        continue
        frame variable n""", BREAK, turn={"number": 500}, alone=True),
    H("pending breakpoint by line", """
        breakpoint set -f lateext.c -l lateext.c#[in late_add]
        continue
        bt 1""", BREAK, turn={"number": 500}, alone=True),
    H("breakpoint list", """
        breakpoint set -n helper
        continue
        breakpoint list""", BREAK),
    H("breakpoint set -E c++", """
        breakpoint set -E c++ -h false -w true
        continue
        bt 2""", BREAK, keep=r"frame #\d.*thrower|frame #0"),
    H("breakpoint write, read", """
        breakpoint set -n helper
        breakpoint write -f {folder}/saved
        breakpoint delete --force
        breakpoint read -f {folder}/saved
        continue
        bt 1""", BREAK, keep=r"frame #"),
    H("frame variable", """
        b cext.c:[last line of helper]
        continue
        frame variable
        frame variable *where
        frame variable where->next->label""", DATA),
    H("frame variable of C++", """
        b cxxext.cc:[end of collect]
        continue
        frame variable numbers text sizes
        frame variable cube""", DATA),
    H("print a global", LOOP + """
        print counter
        print corner
        expression &counter""", DATA),
    H("print a static", LOOP + """
        print calls
        print names[1]""", DATA),
    H("a variable of a namespace without a name", """
        b cxxext.cc:[end of collect]
        continue
        print unnamed
        expression unnamed = 70
        next
        frame variable unnamed""", DATA),
    H("target variable", LOOP + """
        target variable counter
        target variable calls""", DATA, excuses=("a variable each",)),
    H("print a thread-local variable", LOOP + """
        print depth
        print inner_depth""", DATA),
    H("expression sets a local", """
        b cext.c:[middle of helper]
        continue
        expression local = 1000
        frame variable local
        finish""", DATA),
    H("expression sets a global", LOOP + """
        expression counter = 7000
        next
        next
        print counter""", DATA),
    H("expression sets a static", """
        b cext.c:[middle of helper]
        continue
        expression calls = 50
        next
        next
        print calls""", DATA),
    H("watchpoint set variable of a global", LOOP + """
        watchpoint set variable counter
        continue
        bt 1""", DATA),
    H("watchpoint of a local", LOOP + """
        watchpoint set variable sum
        continue
        bt 1""", DATA),
    H("memory read", LOOP + """
        memory read -f d -s 4 -c 5 `&table[0]`
        x/s corner.label""", DATA),
    H("register read", TWICE + """
        register read rip
        print $edi""", DATA),
    H("type lookup", """
        type lookup point
        type lookup geometry::Cube""", DATA),
    H("image lookup -n", """
        image lookup -n cext_square""", CODE),
    H("image lookup -a $pc", TWICE + """
        image lookup -a $pc""", CODE),
    H("image lookup -t", """
        image lookup -t point""", CODE),
    H("image list", """
        image list cext.so libpython3.11.so.1.0""", CODE, excuses=("a module each",)),
    H("source list -n", """
        source list -n cext_twice""", CODE),
    H("source info", TWICE + """
        source info""", CODE),
    H("disassemble -n", """
        disassemble -n cext_twice""", CODE),
    H("disassemble -f", """
        b helper
        continue
        disassemble -f""", CODE, keep="call", excuses=("no stubs' names",)),
    H("bt", TWICE + """
        bt 4""", STACK),
    H("bt into CPython", TWICE + """
        bt""", STACK, keep=r"frame #\d: ", excuses=("on through the evaluation loop",)),
    H("bt all", TWICE + """
        bt all""", STACK, keep=r"cext_twice|helper"),
    H("up, down, frame select", TWICE + """
        up
        frame variable local
        down
        frame select 2
        frame variable n""", STACK),
    H("frame info", TWICE + """
        frame info""", STACK),
    H("thread list, thread info", TWICE + """
        thread info""", STACK),
    H("next", """
        b helper
        continue
        next
        next
        next""", STEP),
    H("step into a function", """
        b cext.c:[helper calls cext_twice]
        continue
        step
        bt 2
        step
        step""", STEP),
    H("step into C++", """
        b geometry::Cube::area
        continue
        step
        bt 2
        finish""", STEP),
    H("finish", """
        b cext_square
        continue
        finish""", STEP),
    H("finish, out of an extension", """
        b cext_work
        continue
        finish
        bt 1""", STEP, keep="frame #0|Return"),
    H("thread until", LOOP + """
        breakpoint delete --force
        thread until cext.c#[after the loop]
        frame variable sum""", STEP),
    H("thread return", """
        b cext_square
        continue
        thread return 5
        frame variable n""", STEP, keep=r"int\) n|no variable named"),
    H("stepi, nexti", """
        b cext_square
        continue
        stepi
        nexti""", STEP),
    H("expression calls a function", TWICE + """
        expression cext_square(9)
        expression cext_twice(4)
        expression factorial(5)""", STEP),
    H("expression calls a method", """
        b cxxext.cc:[end of collect]
        continue
        expression cube.scaled(3)
        expression numbers.size()""", STEP),
    H("expression calls CPython", """
        b cext_work
        continue
        expression (char *)PyUnicode_AsUTF8((PyObject *)PyObject_Repr(args))""", STEP),
    H("a PyObject *", """
        b cext_work
        continue
        frame variable args
        print args->ob_type->tp_name""", DATA),
    H("attach", """
        b helper
        continue
        bt 2
        frame variable n""", PROCESS, attach=True, alone=True, keep=r"frame #(?!.* libc\.so)|int\) n|no variable named"),
    H("kill, run", """
        b helper
        continue
        process kill
        run
        expression -- turn.left = 1
        continue
        frame variable n""", PROCESS, alone=True, keep=r"frame #|int\) n|no variable named"),
    H("a signal stops the program", """
        continue
        up
        bt 1""", PROCESS, turn={"number": 600}, alone=True, keep="SIG"),
    H("a crash", """
        continue
        bt 2
        frame variable n""", PROCESS, turn={"number": 601}, alone=True),
    H("process save-core, and the core", """
        b cext_twice
        continue
        process save-core {folder}/core""", PROCESS, alone=True, keep=r"frame #\d+: .*(?:cext_twice|helper|cext_work)\b|error", fresh="""
        target create -c {folder}/core
        bt all""", excuses=("any thread",)),
    H("process save-core --style full, and the core", """
        b cext_twice
        continue
        process save-core --style full {folder}/core""", PROCESS, alone=True, keep=r"frame #\d+: .*(?:cext_twice|helper|cext_work)\b|error", fresh="""
        target create -c {folder}/core
        bt all""", excuses=("any thread",)),
    H("the program's end", """
        b helper
        continue
        breakpoint delete --force
        expression -- turn.stop = 1
        continue""", PROCESS, alone=True),
]
