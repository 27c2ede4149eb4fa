# SPDX-License-Identifier: MIT
"""Workers read parts of one buffer and write what they find into another; both are shared, and each part has one worker: the
second example of PEP 734. Prints:

    [49, 149, 174, 132, 120, 49, 149, 181, 122, 128]
    True
"""

import threading

from concurrent import interpreters

WORKERS, CHUNK, CHUNKS = 3, 100, 10
WORK = """if True:
    from sums import mean
    while (task := tasks.get()) is not None:
        index, start, end = task
        results[index] = mean(data[start:end])
    """


def reduce(data, results, tasks):
    interp = interpreters.create()
    interp.prepare_main(data=data, results=results, tasks=tasks)
    interp.exec(WORK)
    interp.close()


if __name__ == "__main__":
    data = memoryview(bytearray(i % 250 if i % 500 < 250 else (i * 7) % 256 for i in range(CHUNK * CHUNKS)))
    results, tasks = memoryview(bytearray(CHUNKS)), interpreters.create_queue()
    threads = [threading.Thread(target=reduce, args=(data, results, tasks)) for _ in range(WORKERS)]
    for thread in threads:
        thread.start()
    for i in range(CHUNKS):
        tasks.put_nowait((i, i * CHUNK, min((i + 1) * CHUNK, len(data))))
    for _ in range(WORKERS):
        tasks.put_nowait(None)
    for thread in threads:
        thread.join()
    print(results.tolist())
    print(results.tolist() == [sum(data[i * CHUNK:(i + 1) * CHUNK]) // CHUNK for i in range(CHUNKS)])
