# packages: python3-line-profiler
import line_profiler


def work(n):
    total = 0
    for i in range(n):
        total += i
    return total


profiler = line_profiler.LineProfiler(work)
assert profiler.runcall(work, 10) == 45
((_, timings),) = profiler.get_stats().timings.items()
assert [hits for line, hits, time in timings] == [1, 10, 10, 1], timings
