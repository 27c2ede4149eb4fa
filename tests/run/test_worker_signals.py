# SPDX-License-Identifier: MIT
"""Signals of a program's own, in each mode in which programs run: what a table of functions gives in a worker process, in a
worker of the executor, alone and beside others, and in programs of `gorgon run`."""

import os
import sys
import tempfile
import textwrap
import unittest

sys.path.insert(0, os.path.dirname(__file__))
from harness import GORGON, PYTHON3, run  # noqa: E402
from test_executor import Package  # noqa: E402

# Each function is a case: what it returns is compared.
CASES = textwrap.dedent('''
    import asyncio, os, select, signal, socket, subprocess, sys, threading, time

    class Late(Exception):
        pass

    def late(*args):
        raise Late(args[0])

    def until(done):
        end = time.monotonic() + 20
        while not done() and time.monotonic() < end:
            time.sleep(0.01)
        return done()

    def alarm_in_sleep():
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            time.sleep(20)
        except Late as error:
            return repr(error)

    def alarm_in_loop():
        signal.signal(signal.SIGALRM, late)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            for _ in iter(int, 1):
                pass
        except Late as error:
            return repr(error)

    def alarm_of_seconds():
        signal.signal(signal.SIGALRM, late)
        before = signal.alarm(1)
        try:
            os.read(os.pipe()[0], 1)
        except Late as error:
            return before, repr(error)

    def virtual_timer():
        got = []
        signal.signal(signal.SIGVTALRM, lambda *args: got.append(args[0]))
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.01)
        while not got:
            pass
        return got[0]

    def old_handler_can_be_put_back():
        old = signal.signal(signal.SIGPROF, late)
        return old, signal.signal(signal.SIGPROF, old) is late, signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def kill_of_oneself():
        got = []
        signal.signal(signal.SIGUSR1, lambda *args: got.append(args[0]))
        for _ in range(3):
            os.kill(os.getpid(), signal.SIGUSR1)
        return len(got)

    def kill_of_oneself_ignored():
        signal.signal(signal.SIGUSR2, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGUSR2)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGTERM)
        return "alive"

    def raised_on_a_thread_while_the_handler_changes():
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        signal.raise_signal(signal.SIGUSR1)
        hook, sys.unraisablehook = sys.unraisablehook, lambda *args: None  # "Signal 10 ignored due to race condition"
        ended = threading.Event()

        def send():
            while not ended.is_set():
                signal.raise_signal(signal.SIGUSR1)

        thread = threading.Thread(target=send)
        thread.start()
        for _ in range(2000):
            signal.signal(signal.SIGUSR1, lambda *args: None)
            signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        ended.set()
        thread.join()
        time.sleep(0)
        sys.unraisablehook = hook
        return "alive"

    def children_that_nobody_waits_for():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        seen = []
        for wait in (lambda pid: os.waitpid(pid, 0), lambda pid: os.waitpid(-1, 0), lambda pid: os.wait(),
                     lambda pid: os.waitid(os.P_PID, pid, os.WEXITED), lambda pid: os.waitid(os.P_ALL, 0, os.WEXITED)):
            pid = os.fork()
            if not pid:
                os._exit(3)
            try:
                seen.append(wait(pid))
            except ChildProcessError:
                seen.append("none")
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        pid = os.fork()
        if not pid:
            os._exit(4)
        return seen, os.waitpid(pid, 0)[1]

    def kill_from_a_thread():
        got = []
        signal.signal(signal.SIGUSR1, lambda *args: got.append(threading.current_thread() is threading.main_thread()))
        thread = threading.Thread(target=os.kill, args=(os.getpid(), signal.SIGUSR1))
        thread.start()
        until(lambda: got)
        thread.join()
        return got

    def interrupt_of_oneself():
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(20)
        except KeyboardInterrupt:
            return "interrupted"

    def raised():
        signal.signal(signal.SIGTERM, late)
        try:
            signal.raise_signal(signal.SIGTERM)
        except Late as error:
            return repr(error)

    def sent_to_a_thread():
        got = []
        signal.signal(signal.SIGUSR2, lambda *args: got.append(args[0]))
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR2)
        return len(got)

    def sigwait():
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1)
        pending = signal.SIGUSR1 in signal.sigpending()
        ret = signal.sigwait([signal.SIGUSR1])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        return pending, int(ret)

    def blocked_until_it_is_not():
        got = []
        signal.signal(signal.SIGUSR1, lambda *args: got.append(args[0]))
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        os.kill(os.getpid(), signal.SIGUSR1)
        before = len(got)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        return before, len(got)

    def wakeup_fd():
        a, b = socket.socketpair()
        b.setblocking(False)
        signal.signal(signal.SIGALRM, lambda *args: None)
        old = signal.set_wakeup_fd(b.fileno())
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        ready = select.select([a], [], [], 20)[0]
        signal.set_wakeup_fd(-1)
        return old, bool(ready) and list(a.recv(9))

    def child_ends():
        got = []
        signal.signal(signal.SIGCHLD, lambda *args: got.append(args[0]))
        child = subprocess.Popen(["true"])
        until(lambda: got)
        status = child.wait()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        return status, int(got[0])

    def asyncio_has_signals():
        async def main():
            event = asyncio.Event()
            asyncio.get_running_loop().add_signal_handler(signal.SIGALRM, event.set)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            await asyncio.wait_for(event.wait(), 20)
            child = await asyncio.create_subprocess_exec("echo", "hi", stdout=-1)
            return (await asyncio.wait_for(child.communicate(), 20))[0], child.returncode
        return asyncio.run(main())

    def ignored_by_programs(**options):
        words = ["grep", "SigIgn", "/proc/self/status"]
        mask = int(subprocess.run(words, capture_output=True, text=True, **options).stdout.split()[1], 16)
        return [signal.Signals(number).name for number in range(1, 32) if mask >> (number - 1) & 1]

    def programs_ignore_what_is_ignored():
        for number in signal.SIGUSR1, signal.SIGUSR2, signal.SIGTERM:  # which other cases leave ignored
            signal.signal(number, signal.SIG_DFL)
        seen = [ignored_by_programs(), ignored_by_programs(restore_signals=False)]
        numbers = signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2, signal.SIGCHLD, signal.SIGWINCH
        before = [signal.signal(number, signal.SIG_IGN) for number in numbers]
        seen += [ignored_by_programs(), ignored_by_programs(preexec_fn=lambda: signal.signal(signal.SIGUSR2, signal.SIG_DFL))]
        reader, writer = os.pipe()
        if not os.fork():
            try:
                os.execv("/there/is/none", ["none"])
            except FileNotFoundError:
                os.write(writer, repr((ignored_by_programs(), signal.getsignal(signal.SIGHUP))).encode())
            os._exit(0)
        os.close(writer)
        seen.append(os.read(reader, 1000))
        os.close(reader)
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)
        signal.signal(signal.SIGHUP, lambda *args: None)
        seen.append(ignored_by_programs())
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        return seen

    CASES = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__ and callable(f)
             and f not in (Late, late, until, ignored_by_programs)]
    ''')

POOL = CASES + textwrap.dedent('''
    if __name__ == "__main__":
        import sys
        from concurrent.futures import ProcessPoolExecutor
        Pool = ProcessPoolExecutor
        if sys.argv[1] != "process":
            from gorgon import InterpreterPoolExecutor as Pool
        with Pool(int(sys.argv[2])) as pool:
            if sys.argv[2] != "1":  # others are at work meanwhile
                others = [pool.submit(time.sleep, 0.5) for _ in range(int(sys.argv[2]) - 1)]
            for f in CASES:
                if f.__name__ in sys.argv[3:] or not sys.argv[3:]:
                    print(f.__name__, pool.submit(f).result())
    ''')

PROGRAM = CASES + textwrap.dedent('''
    import sys
    lines = [f"{f.__name__} {f()}" for f in CASES]
    with open(sys.argv[1] + str(os.getpid()) + "." + str(threading.get_native_id()), "w") as file:
        print("\\n".join(lines), file=file)
    ''')


class Signals(Package):
    def run_pool(self, *args):
        result = run(PYTHON3, self.pool, *args, env={"PYTHONPATH": self.site})
        self.assertEqual((result.stderr, result.returncode), ("", 0), args)
        return result.stdout.splitlines()

    def test_each_mode_gives_what_a_process_gives(self):
        with tempfile.TemporaryDirectory() as folder:
            self.pool = os.path.join(folder, "pool.py")
            program = os.path.join(folder, "program.py")
            for path, text in (self.pool, POOL), (program, PROGRAM):
                with open(path, "w") as file:
                    file.write(text)
            expected = self.run_pool("process", "1")
            self.assertGreater(len(expected), 15)
            for count in "1", "3":
                with self.subTest(workers=count):
                    self.assertEqual(self.run_pool("gorgon", count), expected)
            for options in [], ["--shared-files"]:
                with self.subTest(options=options):
                    result = run(GORGON, "run", "-n", "2", *options, program, os.path.join(folder, "out" + "".join(options)))
                    self.assertEqual((result.stderr, result.returncode), ("", 0))
                    written = [name for name in os.listdir(folder) if name.startswith("out")
                               and ("--" in name) == bool(options)]
                    self.assertEqual(len(written), 2)
                    for name in written:
                        with open(os.path.join(folder, name)) as file:
                            self.assertEqual(file.read().splitlines(), expected)

    def test_what_a_host_ignores_programs_of_workers_ignore(self):
        """A shell ignores SIGINT in what it starts in the background, nohup SIGHUP."""
        with tempfile.TemporaryDirectory() as folder:
            self.pool = os.path.join(folder, "pool.py")
            with open(self.pool, "w") as file:
                file.write(POOL)
            seen = []
            for mode in "process", "gorgon":
                result = run("sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh", PYTHON3, self.pool, mode, "1",
                             "programs_ignore_what_is_ignored", env={"PYTHONPATH": self.site})
                self.assertEqual((result.stderr, result.returncode), ("", 0))
                seen.append(result.stdout)
            self.assertIn("['SIGHUP', 'SIGINT']", seen[0])
            self.assertEqual(seen[1], seen[0])

    def test_the_host_keeps_its_signals(self):
        """What workers handle and ignore does not change what the host does, or what a signal to the process does to it."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "host.py")
            with open(path, "w") as file:
                file.write(textwrap.dedent("""
                    import os, signal, time
                    from gorgon import InterpreterPoolExecutor as Pool

                    def ignore():
                        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1:
                            signal.signal(number, signal.SIG_IGN)

                    if __name__ == "__main__":
                        got = []
                        signal.signal(signal.SIGHUP, lambda *args: got.append("SIGHUP"))
                        with Pool(1) as pool:
                            pool.submit(ignore).result()
                            os.kill(os.getpid(), signal.SIGHUP)
                            try:
                                os.kill(os.getpid(), signal.SIGINT)
                                time.sleep(20)
                            except KeyboardInterrupt:
                                got.append("SIGINT")
                            print(got, flush=True)
                            os.kill(os.getpid(), signal.SIGTERM)
                            time.sleep(20)
                    """))
            result = run(PYTHON3, path, env={"PYTHONPATH": self.site})
        self.assertEqual((result.stdout, result.returncode), ("['SIGHUP', 'SIGINT']\n", -15), result.stderr)


if __name__ == "__main__":
    unittest.main()
