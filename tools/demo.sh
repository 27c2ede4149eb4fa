#!/usr/bin/env bash
# The main job, shown: numpy in several interpreters of one process, then a real gdb
# and a real lldb that stop in each of them by name and by line. `make demo` runs this.
set -eu

build=${BUILD:-build}
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What each interpreter runs: a list grows, and a static C function of a standard
# extension is called (Decimal.quantize).
program='
import gorgon, decimal, numpy
me = [gorgon.interpreter]
me.append(int(numpy.arange(4).sum()))
decimal.Decimal("1.5").quantize(decimal.Decimal("1"))
'

title() {
	printf '\n==== %s\n\n' "$1"
}

# A debugger's session without what differs from run to run and says nothing here.
quieten() {
	grep -vE '^\[(New Thread|Thread 0x|Switching|Inferior|Using)|^Using host|^warning: Error disabling|No such file or directory|^$' || true
}

title "1. $build/gorgon demo"
"$build/gorgon" demo

title "2. gdb on a host with three interpreters: one breakpoint by name, one by line, one on a static function"
line=$(gdb -nx -batch -ex 'set debuginfod enabled off' -ex 'info line PyList_New' \
	"$(readlink -f /usr/lib/x86_64-linux-gnu/libpython3.11.so.1.0)" 2>/dev/null |
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

class Once(gdb.Breakpoint):
    """Stops once in each interpreter, and counts."""

    def __init__(self, spec):
        super().__init__(spec)
        self.seen = set()

    def stop(self):
        number = int(gdb.parse_and_eval("\$gorgon_interp(\$pc)"))
        if number in self.seen:
            return False
        self.seen.add(number)
        return True

points = [Once(spec) for spec in ("PyList_Append", "listobject.c:$line", "dec_mpd_qquantize")]
end
python
while gdb.selected_inferior().pid and not all(len(p.seen) == 3 for p in points):
    gdb.execute("continue")
    if gdb.selected_inferior().pid:
        gdb.write("interpreter %d\n" % int(gdb.parse_and_eval("\$gorgon_interp(\$pc)")))
        gdb.execute("bt -frame-info source-line 2")
        gdb.execute("bt -frame-info short-location -3")
for p in points:
    gdb.write("%-20s stopped in interpreters %s\n" % (p.location, sorted(p.seen)))
    p.delete()
gdb.execute("continue")
end
END
gdb -nx -q -batch -x "$work/session.gdb" --args "$build/host" -n 3 "$program" 2>&1 | quieten

title "3. lldb on the same host: by name with nothing loaded, by line after 'gorgon symbols all'"
lldb=$(command -v lldb-19 || command -v lldb)
cat > "$work/session.lldb" <<END
settings set auto-confirm true
settings set stop-line-count-before 0
settings set stop-line-count-after 0
command script import $root/lldb/gorgon.py
breakpoint set -n host_created
run
gorgon list
breakpoint set -n PyList_Append
continue
thread backtrace -c 3
breakpoint delete 2
gorgon symbols all
breakpoint set -f listobject.c -l $line
continue
thread backtrace -c 2
frame variable
breakpoint disable
continue
END
"$lldb" --no-lldbinit --batch -s "$work/session.lldb" -- "$build/host" -n 3 "$program" 2>&1 | quieten
