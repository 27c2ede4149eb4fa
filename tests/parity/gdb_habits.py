# SPDX-License-Identifier: MIT
"""The table for gdb: breakpoints and data; then what gdb_habits_code.py has."""

import gdb_habits_code
from habits import ALL, BREAK, DATA, Habit as H

HABITS = [
    # ---- breakpoints -------------------------------------------------------------
    H("commands ... continue ... end", """
        break helper
        commands
        silent
        print n
        bt 1
        continue
        end
        continue
        info breakpoints""", BREAK, turn=ALL),
    H("commands that end in finish", """
        break helper
        commands
        silent
        print n
        finish
        end
        continue
        bt 1
        delete $bpnum
        continue""", BREAK),
    H("commands without continue", """
        break cext_square
        commands
        print n * 2
        info locals
        end
        continue""", BREAK),
    H("break FUNCTION", """
        break cext_square
        continue
        continue
        info args""", BREAK),
    H("break FUNCTION, in each thread", """
        break cext_square if n == 3
        continue
        print n
        continue
        info breakpoints""", BREAK, turn=ALL),
    H("break of a static function", """
        break cext_twice
        continue
        print n""", BREAK),
    H("break FILE:LINE", """
        break cext.c:[middle of helper]
        continue
        print local""", BREAK),
    H("break FILE:LINE, in each thread", """
        break cext.c:[middle of helper]
        commands
        silent
        print local
        continue
        end
        continue""", BREAK, turn=ALL),
    H("break FILE:FUNCTION", """
        break cext.c:factorial
        continue
        print n""", BREAK),
    H("break LINE of the file in view", """
        list cext_twice
        break cext.c#[in cext_twice]
        continue
        bt 1""", BREAK),
    H("break -function -line (explicit)", """
        break -source cext.c -line cext.c#[in the loop]
        continue
        print i""", BREAK),
    H("break *ADDRESS of a function", """
        break *factorial
        continue
        x/i $pc""", BREAK, keep=r"Breakpoint N is set|^=>", excuses=("a breakpoint each",)),
    H("break *$pc", """
        tbreak factorial
        continue
        break *$pc
        continue
        print n""", BREAK),
    H("break here (no argument)", """
        tbreak factorial
        continue
        up
        break
        continue
        frame""", BREAK),
    H("break of a method", """
        break geometry::Shape::scaled
        continue
        print *this""", BREAK, excuses=("static members",)),
    H("break of a virtual method, by its class", """
        break geometry::Cube::area
        continue
        bt 2""", BREAK),
    H("break of a template, every instance", """
        break biggest
        continue
        continue""", BREAK),
    H("break of a template's instance", """
        break biggest<double>
        continue
        info args""", BREAK),
    H("break of one of several overloads", """
        break overloaded(int)
        continue
        info args
        continue""", BREAK),
    H("break of all overloads", """
        break overloaded
        continue
        continue
        info args""", BREAK),
    H("break in a lambda, by line", """
        break cxxext.cc:[in the lambda]
        continue
        print more""", BREAK),
    H("break of a function of CPython", """
        break PyErr_SetString
        tbreak _PyTime_FromSecondsObject
        continue
        bt 2""", BREAK),
    H("break of a static function of CPython", """
        tbreak time_sleep
        continue
        bt 1""", BREAK),
    H("break of a static function of CPython that LTO has renamed", """
        tbreak list_insert
        continue
        bt 1""", BREAK),
    H("break FILE:LINE in CPython", """
        tbreak timemodule.c:{time_sleep}
        continue
        info source""", BREAK, keep=r"time_sleep|^Current source|Located|language"),
    H("break of a function of the C library", """
        tbreak snprintf
        continue
        bt 2""", BREAK),
    H("pending break: a function of a library to come", """
        break late_add
        info breakpoints
        continue
        print n
        finish""", BREAK, turn={"number": 500}, alone=True),
    H("pending break: FILE:LINE of a library to come", """
        break lateext.c:[in late_add]
        continue
        bt 1""", BREAK, turn={"number": 500}, alone=True),
    H("pending break in a module's init function", """
        break PyInit_lateext
        continue
        bt 1""", BREAK, turn={"number": 500}, alone=True),
    H("rbreak REGEX", """
        rbreak ^cext_sq
        continue
        bt 1""", BREAK),
    H("rbreak FILE:REGEX", """
        rbreak cext.c:^fact
        continue
        print n""", BREAK),
    H("break ... if CONDITION", """
        break factorial if n == 2
        continue
        print n
        continue""", BREAK),
    H("break ... if $_streq()", """
        break helper if $_streq(name, "turn10")
        continue
        print name""", BREAK),
    H("break ... if a static variable", """
        break cext_twice if calls == 11
        continue
        print calls""", BREAK),
    H("break ... if a global variable", """
        break cext.c:[in the loop] if counter == 102
        continue
        print i""", BREAK),
    H("condition N EXPRESSION, and none", """
        break factorial
        condition $bpnum n == 3
        continue
        print n
        condition $bpnum
        continue
        print n""", BREAK),
    H("ignore N COUNT", """
        break factorial
        ignore $bpnum 2
        continue
        print n
        info breakpoints""", BREAK),
    H("tbreak", """
        tbreak factorial
        continue
        continue""", BREAK),
    H("tbreak, in each thread", """
        tbreak factorial
        continue
        continue
        info breakpoints""", BREAK, turn=ALL),
    H("hbreak", """
        hbreak cext_square
        continue
        bt 1""", BREAK, excuses=("not of the processor",)),
    H("dprintf", """
        dprintf cext.c:[in the loop],"i=%d n=%d\\n", i, n
        continue""", BREAK),
    H("dprintf of a global and a static variable", """
        dprintf cext.c:[in the loop],"counter=%d calls=%d ratio=%g\\n", counter, calls, ratio
        continue""", BREAK),
    H("printf of a global variable in commands", """
        break cext_twice
        commands
        silent
        printf "n=%d counter=%d label=%s\\n", n, counter, corner.label
        continue
        end
        continue""", BREAK, turn=ALL),
    H("disable and enable", """
        break cext_square
        break factorial
        disable $bpnum
        continue
        enable $bpnum
        continue
        disable $bpnum
        continue""", BREAK),
    H("enable once, enable delete", """
        break factorial
        enable once $bpnum
        continue
        info breakpoints
        continue""", BREAK),
    H("clear FUNCTION", """
        break factorial
        clear factorial
        info breakpoints
        continue""", BREAK),
    H("info breakpoints with hits", """
        break helper
        break cext.c:[in the loop] if i == 3
        tbreak PyLong_FromLong
        continue
        continue
        info breakpoints""", BREAK),
    H("save breakpoints, source", """
        break helper if n > 1
        break cext.c:[in the loop]
        save breakpoints {folder}/saved
        delete
        source {folder}/saved
        info breakpoints
        continue
        delete
        shell cat {folder}/saved""", BREAK),
    H("break ... thread N", """
        python gdb.execute("break factorial thread %d" % gdb.selected_thread().num)
        continue
        print n""", BREAK),
    H("until LOCATION", """
        tbreak loop
        continue
        until cext.c:[after the loop]
        print sum""", BREAK),
    H("until, out of a loop", """
        tbreak cext.c:[in the loop]
        continue
        next
        next
        until
        frame""", BREAK),
    H("advance LOCATION", """
        tbreak helper
        continue
        advance cext_twice
        bt 2""", BREAK),
    H("catch throw", """
        catch throw
        continue
        bt 2""", BREAK, keep=r"Catchpoint|thrower"),
    H("catch catch", """
        catch catch
        continue
        bt 2""", BREAK, keep=r"Catchpoint|catcher"),
    H("catch load", """
        catch load lateext
        continue""", BREAK, turn={"number": 500}, alone=True, excuses=("told by libjitreg",)),
    H("catch syscall", """
        catch syscall clock_nanosleep
        continue
        continue
        bt 1""", BREAK),
    H("set stop-on-solib-events, sharedlibrary", """
        info sharedlibrary cext
        sharedlibrary cext
        break cext_square
        continue""", BREAK),
    # ---- data ----------------------------------------------------------------------
    H("print locals", """
        tbreak cext.c:[last line of helper]
        continue
        print local
        print text
        print either
        print copy
        print *where
        print where->next->label""", DATA),
    H("info locals, info args", """
        tbreak cext.c:[last line of helper]
        continue
        info args
        info locals""", DATA),
    H("print a local that hides another", """
        tbreak cext.c:[in shadow]
        continue
        print counter
        print ::counter
        print n""", DATA),
    H("print a global variable", """
        tbreak loop
        continue
        print counter
        print corner
        print ratio
        print &counter""", DATA),
    H("print a global, in each thread", """
        break cext_twice
        commands
        silent
        print counter
        print corner.x
        continue
        end
        continue""", DATA, turn=ALL),
    H("print a static variable", """
        tbreak loop
        continue
        print calls
        print names
        print 'cext.c'::calls""", DATA),
    H("print a thread-local variable", """
        tbreak loop
        continue
        print depth
        print inner_depth""", DATA),
    H("print C++ statics and thread-locals", """
        tbreak collect
        continue
        print geometry::Shape::made
        print geometry::hidden
        print geometry::level""", DATA),
    H("print a variable of CPython", """
        tbreak time_sleep
        continue
        print _PyRuntime.initialized
        print sizeof(_PyRuntime)
        print PyList_Type.tp_name
        print &_Py_NoneStruct""", DATA),
    H("print a string and a vector of C++", """
        tbreak cxxext.cc:[end of collect]
        continue
        print text
        print numbers
        print sizes
        print cube
        print shape""", DATA, excuses=("static members",)),
    H("print/x, print ARRAY@N, enumerations", """
        tbreak cext.c:[last line of helper]
        continue
        print/x local
        print/d table
        print *table@2
        print where->colour
        print (enum colour)1
        print/t copy.high""", DATA),
    H("print expressions and casts", """
        tbreak helper
        continue
        print n * 2 + 1
        print (char)65
        print *(struct point *)where
        print sizeof(struct point)
        print &where->label
        print where == 0""", DATA),
    H("print in a frame above", """
        tbreak cext_twice
        continue
        up
        print local
        print counter
        print depth""", DATA),
    H("set print pretty", """
        tbreak loop
        continue
        set print pretty on
        print corner
        set print pretty off""", DATA),
    H("set var of a local", """
        tbreak cext.c:[middle of helper]
        continue
        set var local = 1000
        print local
        finish""", DATA),
    H("set var of a global", """
        tbreak cext.c:[in the loop]
        continue
        set var counter = 7000
        tbreak cext.c:[after the loop]
        continue
        print counter""", DATA),
    H("set var of a static", """
        tbreak cext.c:[middle of helper]
        continue
        set var calls = 50
        next
        next
        print calls""", DATA),
    H("print an assignment", """
        tbreak cext_twice
        continue
        print counter = 12
        print n = 4
        finish""", DATA),
    H("set var of a thread-local", """
        tbreak helper
        continue
        set var depth = 5
        print depth
        tbreak shadow
        continue
        print depth""", DATA),
    H("watch of a global", """
        tbreak loop
        continue
        watch counter
        continue
        continue
        info watchpoints""", DATA),
    H("watch of a static", """
        tbreak helper
        continue
        watch calls
        continue""", DATA),
    H("watch of a local, to the end of its frame", """
        tbreak loop
        continue
        watch sum if sum > 50
        continue
        continue""", DATA),
    H("watch -l", """
        tbreak cext.c:[middle of helper]
        continue
        watch -l where->x
        watch -l copy.x
        continue""", DATA),
    H("watch of a thread-local", """
        tbreak helper
        continue
        watch depth
        delete
        print depth""", DATA),
    H("rwatch of a global", """
        tbreak loop
        continue
        rwatch counter
        continue
        continue""", DATA),
    H("awatch of a static", """
        tbreak helper
        continue
        awatch calls
        continue
        continue""", DATA),
    H("display", """
        tbreak cext.c:[in the loop]
        continue
        display i
        display counter
        display/x n
        next
        next
        info display
        undisplay""", DATA, excuses=("display says whose",)),
    H("x of memory", """
        tbreak loop
        continue
        x/3dw table
        x/s corner.label
        x/2i $pc
        x/2dw &corner""", DATA),
    H("output, printf, echo", """
        tbreak helper
        continue
        output n
        printf "%d %s\\n", n, name
        printf "%d\\n", counter""", DATA),
    H("info registers", """
        tbreak cext_square
        continue
        info registers rdi rip
        print $edi
        print $rip""", DATA),
    H("ptype, whatis", """
        tbreak helper
        continue
        ptype struct point
        ptype where
        whatis local
        whatis counter
        ptype helper
        whatis cext_square
        ptype operation
        ptype union either""", DATA),
    H("ptype of C++", """
        tbreak collect
        continue
        ptype geometry::Cube
        ptype/o geometry::Shape
        whatis biggest<int>
        ptype shape
        whatis numbers""", DATA),
    H("ptype of CPython's types", """
        tbreak time_sleep
        continue
        ptype PyListObject
        whatis self
        whatis _PyRuntime
        ptype struct _time_clock""", DATA),
    H("ptype/o", """
        tbreak helper
        continue
        ptype/o struct point""", DATA),
    H("info vtbl", """
        tbreak cxxext.cc:[end of collect]
        continue
        info vtbl cube""", DATA),
    H("find", """
        tbreak loop
        continue
        find &table[0], +sizeof(table), 30
        print *table@5""", DATA),
    H("convenience variables", """
        tbreak helper
        continue
        set $mine = n + 1
        print $mine
        print $_
        print $bpnum > 0
        print $_gdb_setting("width")
        print $_isvoid($nothing)""", DATA),
    H("$_caller_is, $_any_caller_is", """
        tbreak cext_twice
        continue
        print $_caller_is("helper")
        print $_any_caller_is("cext_work")
        print $_as_string(where)""", DATA),
    H("tab completion", """
        tbreak cext_twice
        continue
        complete break cext_t
        complete print cou
        complete break cext.c:fac""", DATA, keep=r"cext_t|print counter|fact"),
] + gdb_habits_code.HABITS
