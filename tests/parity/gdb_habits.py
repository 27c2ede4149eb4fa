# SPDX-License-Identifier: MIT
"""The table for gdb."""

from habits import ALL, BREAK, CODE, DATA, PROCESS, PYTHON, STACK, STEP, Habit as H

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
        print *this""", BREAK),
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
        bt 1""", BREAK),
    H("dprintf", """
        dprintf cext.c:[in the loop],"i=%d n=%d\\n", i, n
        continue""", BREAK),
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
        continue""", BREAK, turn={"number": 500}, alone=True),
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
        print shape""", DATA),
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
        stepi 20
        display/i $pc
        stepi
        stepi
        stepi
        stepi
        stepi
        stepi
        bt 1""", STEP, keep=r"^#0|plt"),
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
        gcore {folder}/crash""", PROCESS, alone=True, turn={"number": 601}, keep=r"^#\d|\$N|SIGSEGV|Saved|generated by", fresh="""
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
        bt 1""", PROCESS, keep=r"SIGINT|turn_sync"),
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
