# SPDX-License-Identifier: MIT
"""What the kernel keeps for a process, and each program has of its own: timers and children."""

import unittest

from harness import GORGON, SANITIZED, run

# Each program counts the signals of its interval timer, which differs from program to program.
INTERVALS = """
import gorgon, signal
count, wanted = 0, 5 + gorgon.interpreter
def seen(number, frame):
    global count
    count += 1
signal.signal(signal.SIGALRM, seen)
signal.setitimer(signal.ITIMER_REAL, 0.01 * (1 + gorgon.interpreter), 0.02)
while count < wanted:
    signal.pause()
left, interval = signal.setitimer(signal.ITIMER_REAL, 1000)
assert 0 < left <= interval == 0.02, (left, interval)
assert 990 < signal.getitimer(signal.ITIMER_REAL)[0] <= 1000
print(signal.alarm(2000 + gorgon.interpreter), signal.alarm(0) - gorgon.interpreter, signal.alarm(0))
"""

# Interpreter 0 blocks until its alarm ends it, because it has no handler; the others go on.
DEFAULT = """
import gorgon, signal, sys, time
if gorgon.interpreter == 0:
    sys.stderr = open('/dev/null', 'w')
    signal.alarm(1)
    time.sleep(60)
    print("was not interrupted")
time.sleep(2)
print("goes on")
"""

# Each comes when handlers have gone.
POPEN_AND_WAIT = """
import gorgon, os, subprocess, time
if gorgon.interpreter % 2 == 0:
    process = subprocess.Popen(["sh", "-c", "sleep 0.2; exit 7"])
    time.sleep(0.7)
    print(process.wait())
else:
    for wait in os.wait, lambda: os.waitpid(-1, 0), lambda: os.wait3(0), lambda: os.waitid(os.P_ALL, 0, os.WEXITED):
        try:
            print(wait())
        except ChildProcessError:
            pass
    time.sleep(0.5)
    pids = {}
    for status in range(20):
        pid = os.fork()
        if not pid:
            os._exit(status)
        pids[pid] = status
        pids[os.posix_spawn("/bin/sh", ["sh", "-c", f"exit {status}"], {})] = status
    while pids:
        pid, status = os.wait()
        assert os.waitstatus_to_exitcode(status) == pids.pop(pid)
    try:
        os.wait()
    except ChildProcessError:
        print("own")
"""

CTRL_C = """
import os, signal, subprocess, threading, time
process = subprocess.Popen(["sleep", "60"])
threading.Timer(0.5, signal.pthread_kill, (threading.get_ident(), signal.SIGINT)).start()
try:
    os.wait()
except KeyboardInterrupt:
    print("interrupted")
process.kill()
print(os.waitid(os.P_ALL, 0, os.WEXITED).si_status, process.wait())
"""

# Of what python3 does while a command runs.
SYSTEM = """
import os, signal, threading
main = threading.get_ident()
threading.Timer(0.3, signal.pthread_kill, (main, signal.SIGINT)).start()
got = [os.waitstatus_to_exitcode(os.system(text)) for text in ("sleep 0.6; exit 7", "exit 3")]
assert os.system("kill -INT $$") == signal.SIGINT
assert os.system("! grep -q 'SigBlk.*[1-9a-f]' /proc/self/status") == 0
try:
    os.wait()
except ChildProcessError:
    print(*got)
"""

# One watcher of each kind in each interpreter.
WATCHERS = """
import asyncio, sys, warnings
warnings.simplefilter("ignore")
loops = []

async def one(status):
    process = await asyncio.create_subprocess_exec("sh", "-c", f"exit {status}")
    return await process.wait()

async def all_of_them():
    return await asyncio.gather(*map(one, range(8)))

for name in "PidfdChildWatcher", "ThreadedChildWatcher", "SafeChildWatcher":
    if hasattr(asyncio, name):
        watcher = getattr(asyncio, name)()
        policy = asyncio.DefaultEventLoopPolicy()
        asyncio.set_event_loop_policy(policy)
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        watcher.attach_loop(loop)
        policy.set_child_watcher(watcher)
        got = loop.run_until_complete(asyncio.wait_for(all_of_them(), 60))
        assert got == list(range(8)), (name, got)
        loops.append(loop)  # a SIGCHLD on its way may come when all children have been waited for
print("all")
"""

POOL = """
import multiprocessing

if __name__ == "__main__":
    for _ in range(3):
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(abs, range(-50, 0)) == list(range(50, 0, -1))
    process = multiprocessing.get_context("fork").Process(target=exit, args=(9,))
    process.start()
    process.join()
    print(process.exitcode)
"""

# One child ends later than its program, and another has ended before. The last interpreter looks for both.
ZOMBIES = """
import glob, gorgon, os, subprocess, time

def children():
    # cat, a program, sees those of all interpreters.
    cat = subprocess.Popen(["cat", *glob.glob(f"/proc/{os.getpid()}/task/*/children")], stdout=subprocess.PIPE,
                           stderr=subprocess.DEVNULL, text=True)
    return [pid for pid in cat.communicate()[0].split() if pid != str(cat.pid)]

if gorgon.interpreter < 2:
    subprocess._cleanup = lambda: None
    late = subprocess.Popen(["sleep", "3"])  # longer than the others take to start on a busy machine
    ended = subprocess.Popen(["true"])
    os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
    late.returncode = ended.returncode = 0  # nobody waits
else:
    time.sleep(1)
    first = len(children())
    end = time.monotonic() + 60
    while children() and time.monotonic() < end:
        time.sleep(0.1)
    print(first, children(), {open(f"/proc/self/task/{task}/comm").read() for task in os.listdir("/proc/self/task")} &
          {"gorgon-children\\n"})
"""


class Loader(unittest.TestCase):
    isolate = "loader"

    def check(self, count, program, lines, status=0):
        result = run(GORGON, "run", "--isolate", self.isolate, "-n", count, "-c", program)
        self.assertEqual((sorted(result.stdout.splitlines()), result.stderr, result.returncode),
                         (sorted(lines), "", status))

    def test_interval_timers(self):
        self.check(3, INTERVALS, ["1000 2000 0"] * 3)

    def test_an_alarm_without_a_handler_ends_its_program_only(self):
        self.check(3, DEFAULT, ["goes on"] * 2, 142)

    def test_a_timer_that_is_left_ends_nothing_but_its_program(self):
        result = run(GORGON, "run", "--isolate", self.isolate, "-n", "2", "-c",
                     "import gorgon, time\nif gorgon.interpreter: time.sleep(0.5); print('goes on')\nelse:\n"
                     " import signal; signal.signal(signal.SIGALRM, lambda *_: None)\n"
                     " signal.setitimer(signal.ITIMER_REAL, 1e-3, 1e-3)")
        self.assertEqual(result.stdout, "goes on\n")
        self.assertIn(result.returncode, (0, 142))  # with none when handlers had gone

    def test_status_is_not_another_programs(self):
        for count in 2, 4:
            self.check(count, POPEN_AND_WAIT, ["7", "own"] * (count // 2))

    def test_wait_is_interrupted(self):
        self.check(2, CTRL_C, ["interrupted", "9 0"] * 2)

    def test_system(self):
        self.check(2, SYSTEM, ["7 3"] * 2)

    def test_watchers_of_asyncio(self):
        self.check(2, WATCHERS, ["all"] * 2)

    @unittest.skipIf(SANITIZED, "the sanitizer's allocator does not survive a fork among threads")
    def test_pools(self):
        self.check(2, POOL, ["9"] * 2)

    def test_no_zombies(self):
        self.check(3, ZOMBIES, ["2 [] set()"])


class Copy(Loader):
    isolate = "copy"


if __name__ == "__main__":
    unittest.main()
