// SPDX-License-Identifier: MIT
// A host in Java, with host_jni.c: three interpreters with numpy, which four threads call, while the main thread gets an
// exception, interrupts a runaway, reaches a limit of memory and replaces an interpreter. Meanwhile the JVM collects
// garbage and finds null references by SIGSEGV. "java Host SECONDS" does that again and again. Prints
//
//	exception: ZeroDivisionError
//	interrupt: KeyboardInterrupt
//	limit: MemoryError
//	replaced: 14
//	threads: all sums are right
//
// docs/embedding.md has the rules for hosts in Java.
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.ReentrantReadWriteLock;

public class Host {
    static native long begin();
    static native long call(long interpreter, String function, long argument);
    static native void interrupt(long interpreter);
    static native void stop(long interpreter, int timeout);
    static native void destroy(long interpreter);
    static native void reportFaults();

    static final AtomicBoolean done = new AtomicBoolean();
    static int[] nothing;

    // The lock keeps an interpreter from being destroyed while a thread uses it. Any thread may call.
    static class Interpreter {
        final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
        long handle = begin();

        // The result, or the type of the exception.
        Object call(String function, long argument) {
            lock.readLock().lock();
            try {
                return Host.call(handle, function, argument);
            } catch (RuntimeException error) {
                return error.getMessage();
            } finally {
                lock.readLock().unlock();
            }
        }

        // Calls that still run when half of the ten seconds have passed are interrupted; later calls are refused.
        void replace() {
            stop(handle, 10000);
            lock.writeLock().lock();
            destroy(handle);
            handle = begin();
            lock.writeLock().unlock();
        }
    }

    static void expect(Object expected, Object seen) {
        if (!expected.equals(seen)) {
            new Error(seen + " in place of " + expected).printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    static void work(List<Interpreter> interpreters) {
        for (long n = 1000; !done.get(); n++) {
            Object sum = interpreters.get((int) (n % 3)).call("sum_of_squares", n);
            // An interrupt, the limit and the end of an interpreter meet whoever is in it.
            if (!List.of("KeyboardInterrupt", "MemoryError", "busy").contains(sum))
                expect((n - 1) * n * (2 * n - 1) / 6, sum);
            try {
                nothing[0]++;
            } catch (NullPointerException expected) {
                continue;
            }
            expect("NullPointerException", "nothing");
        }
    }

    // An interrupt meets only a call that has begun: so it is repeated.
    static void interruptUntil(AtomicBoolean ended, Interpreter one) {
        for (; !ended.get(); interrupt(one.handle))
            try { Thread.sleep(20); } catch (InterruptedException unexpected) { return; }
    }

    public static void main(String[] arguments) throws InterruptedException {
        System.loadLibrary("host_jni");
        reportFaults();
        List<Interpreter> interpreters = List.of(new Interpreter(), new Interpreter(), new Interpreter());
        for (int i = 0; i < 4; i++)
            new Thread(() -> work(interpreters)).start();
        long until = System.nanoTime() + (arguments.length > 0 ? Long.parseLong(arguments[0]) : 0) * 1000000000;
        for (int round = 0; round == 0 || System.nanoTime() < until; round++) {
            Interpreter one = interpreters.get(round % 3);
            AtomicBoolean ended = new AtomicBoolean();
            Thread interrupter = new Thread(() -> interruptUntil(ended, one));
            expect("ZeroDivisionError", one.call("divide", 1));
            interrupter.start();
            expect("KeyboardInterrupt", one.call("run_away", 0));
            ended.set(true);
            interrupter.join();
            expect("MemoryError", one.call("eat", 0));
            one.replace();
            expect(14L, one.call("sum_of_squares", 4));
            System.gc();
        }
        done.set(true);
        System.out.println("exception: ZeroDivisionError\ninterrupt: KeyboardInterrupt\nlimit: MemoryError\nreplaced: 14\nthreads: all sums are right");
    }
}
