#!/usr/bin/env bash
# The main job, shown: numpy in several interpreters of one process, then a real gdb
# and a real lldb that stop in each of them by name and by line. `make demo` runs this.
set -eu

build=${BUILD:-build}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What each interpreter runs: a list grows; numpy calls back into Python, which calls a
# static C function of a standard extension. One line, for lldb's command line.
program='import decimal, numpy; one = decimal.Decimal(1); names = []; names.append(one); '
program+='print(numpy.frompyfunc(lambda x: decimal.Decimal(x) + one, 1, 1)(numpy.arange(3)))'

title() {
	printf '\n==== %s\n\n' "$1"
}

# A debugger's session without lines that differ from run to run and tell the reader nothing.
quieten() {
	grep --line-buffered -vE '^\(lldb\) (target create|settings|command source)|^(Current executable|Executing commands)|^\[(New Thread|Thread 0x|Switching|Inferior|Using)|^Using host|^-- Thread [0-9]|^warning: Error disabling|No such file or directory|^$' || true
}

# expect DEBUGGER COUNT PATTERN: COUNT lines of the debugger's session must match PATTERN.
expect() {
	[ "$(grep -c "$3" "$work/$1.out")" = "$2" ] && return
	echo "demo: $1 did not stop in every interpreter" >&2
	exit 1
}

# The distribution's Python has the numpy that is shown, whatever python3 the user's shell has. TEST_PYTHON=3.15 is another one that
# the distribution has. Left alone, the hosts would take the newest.
PATH=/usr/bin:$PATH
python=$(command -v "python${TEST_PYTHON:-3}")

title "1. $build/gorgon demo"
"$build/gorgon" demo

title "2. gdb on a host with three interpreters: one breakpoint by name, one by line, one on a static function"
line=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'info line PyList_New' \
	"$("$build/gorgon" info --python "$python" | sed -n 's/^libpython *//p')" 2>/dev/null |
	sed -n 's/.*Line \([0-9]*\) of "[^"]*listobject.c".*/\1/p' | tail -n 1)
cat > "$work/session.gdb" <<END
set pagination off
set confirm off
set width 0
set debuginfod enabled off
set breakpoint pending on
set print thread-events off
set print frame-arguments scalars
set print entry-values no
source $root/gdb/gorgon.py
break host_created
run
gorgon list
python
import gdb

def check(number):
    """Fail unless the host's own PyList_Append nearest to libpython's frame is that of interpreter @number."""
    frame = gdb.newest_frame()
    while frame and "libpython" not in str(gdb.execute("gorgon whose %#x" % frame.pc(), to_string=True)):
        frame = frame.older()
    distance = [abs(frame.pc() - int(gdb.parse_and_eval("(long)host_append_at[%d]" % i))) for i in range(3)]
    if distance.index(min(distance)) != number:
        raise gdb.GdbError("interpreter %d is shown, the host's addresses say %d" % (number, distance.index(min(distance))))

class Once(gdb.Breakpoint):
    """Stops once in each interpreter, and says why."""

    def __init__(self, spec, why):
        self.why = why
        gdb.write(f"(gdb) break {spec}\\n")
        super().__init__(spec)
        self.seen = set()

    def stop(self):
        number = int(gdb.parse_and_eval("\$gorgon_interp(\$pc)"))
        if len(self.seen) == 3 or number in self.seen:
            return False
        self.seen.add(number)
        check(number)
        gdb.write(f"\\n-- Interpreter {number} {self.why}.\\n")
        return True

def show(command, only=""):
    gdb.write(f"(gdb) {command}\\n")
    lines = gdb.execute(command, to_string=True).splitlines()
    gdb.write("".join(line[:150] + "\\n" for line in lines if only in line))

points = [Once("PyInit__multiarray_umath", "initialises its copy of numpy: the breakpoint was set by name, before numpy was there"),
          Once("PyList_Append", "appends to a list, in its copy of libpython"),
          Once("listobject.c:$line", "makes a list: the breakpoint is a line of CPython's source"),
          Once("nm_mpd_qadd", "adds two decimals in a static function of an extension, called from Python that numpy calls")]
while gdb.selected_inferior().pid and not all(len(p.seen) == 3 for p in points):
    gdb.execute("continue")
    if not gdb.selected_inferior().pid:
        break
    for p in points:  # lists are made ten thousand times while numpy is imported
        p.enabled = len(p.seen) < 3
    show("gorgon whose \$pc")
    show("bt 2")
    if gdb.selected_frame().name() == "nm_mpd_qadd":
        gdb.write("frames of numpy in between:\\n")
        show("bt", only="_multiarray_umath")
    show("bt -2")
for p in points:
    gdb.write("%-24s stopped in interpreters %s, as the host's own addresses say\\n" % (p.location, sorted(p.seen)))
    p.delete()
gdb.execute("continue")
end
END
gdb -nx -q -batch -x "$work/session.gdb" --args "$build/host" -n 3 -p "$python" "$program" 2>&1 | quieten | tee "$work/gdb.out"
expect gdb 4 "stopped in interpreters .0, 1, 2."

title "3. lldb on the same host: by name with nothing loaded, by line after 'gorgon symbols all'"
lldb=$(command -v lldb-19 lldb-2{0..9} lldb | head -n 1)
cat > "$work/stops.py" <<'END'
"""The lldb command "stops N WHY": continue until breakpoint N has stopped in three interpreters, and say why it does."""
import gorgon
import lldb


def check(target, pc, label):
    """Fail unless @label names the interpreter whose PyList_Append, as the host has found it, is nearest to @pc."""
    addresses = target.FindFirstGlobalVariable("host_append_at")
    distance = [abs(pc - addresses.GetChildAtIndex(i).GetValueAsUnsigned()) for i in range(3)]
    nearest = distance.index(min(distance))
    if f"[interp {nearest}]" not in label:
        raise AssertionError(f"{label} is shown, the host's addresses say {nearest}")


def stops(debugger, command, result, _internal):
    process = debugger.GetSelectedTarget().GetProcess()
    number, why = command.split(None, 1)
    labels = set()
    while len(labels) < 3 and process.Continue().Success() and process.GetState() == lldb.eStateStopped:
        for thread in process:
            if thread.GetStopReason() != lldb.eStopReasonBreakpoint:
                continue
            frame = thread.GetFrameAtIndex(0)
            label = gorgon.frame_label(frame, None)
            if thread.GetStopReasonDataAtIndex(0) != int(number) or label in labels:
                continue
            labels.add(label)
            check(process.GetTarget(), frame.GetPC(), label)
            process.SetSelectedThread(thread)
            result.AppendMessage(f"\n-- {why}:")
            result.AppendMessage(f"stopped in {label}")
            for index in (0, 1, thread.GetNumFrames() - 2):
                stream = lldb.SBStream()
                thread.GetFrameAtIndex(index).GetDescription(stream)
                result.AppendMessage("    " + stream.GetData().strip())


def __lldb_init_module(debugger, _internal):
    debugger.HandleCommand("command script add -o -f stops.stops stops")
END
cat > "$work/session.lldb" <<END
settings set auto-confirm true
settings set stop-line-count-before 0
settings set stop-line-count-after 0
settings set stop-disassembly-display never
command script import $root/lldb/gorgon.py
command script import $work/stops.py
breakpoint set -n host_created
run
gorgon list
breakpoint set -n PyList_Append
stops 2 A list grows; the breakpoint is a name, for which lldb needs nothing of ours
breakpoint delete 2
gorgon symbols all
breakpoint set -f listobject.c -l $line
stops 3 A list is made; the breakpoint is a line of CPython's source, which lldb knows after 'gorgon symbols all'
frame variable size
breakpoint disable
continue
END
"$lldb" --no-lldbinit --batch -s "$work/session.lldb" -- "$build/host" -n 3 -p "$python" "$program" 2>&1 | quieten | tee "$work/lldb.out"
expect lldb 6 "^stopped in libpython.*interp [012]"

title "gdb and lldb have stopped in each of three interpreters, by name and by line"
echo "README.md has sessions to type; 'make install' as root puts gorgon into $(sed -n 's/^PREFIX ?= //p' "$root/Makefile")."
