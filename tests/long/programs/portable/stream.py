# SPDX-License-Identifier: MIT
"""Workers on threads, an interpreter each, take requests from one queue and put results into another, whose reader has a thread,
too: the first example of PEP 734. Prints:

    44 results, 4 of them errors: 18520
    an error: ValueError: not a request: None
    the queue is empty
"""

import threading

from concurrent import interpreters

WORKERS, REQUESTS = 4, 44
WORK = """if True:
    from sums import norm
    while True:
        request = tasks.get()
        if request == "stop":
            break
        try:
            number, numbers = request
            if numbers is None:
                raise ValueError(f"not a request: {numbers}")
            result = number, norm(numbers), None
        except Exception as error:
            result = number, 0, f"{type(error).__name__}: {error}"
        results.put_nowait(result)
    results.put_nowait(None)
    """


def serve(interp, tasks, results):
    interp.prepare_main(tasks=tasks, results=results)
    interp.exec(WORK)


def collect(results, found):
    running = WORKERS
    while running:
        try:
            result = results.get(timeout=0.1)
        except interpreters.QueueEmpty:
            continue
        if result is None:
            running -= 1
        else:
            found.append(result)


if __name__ == "__main__":
    tasks, results, found = interpreters.create_queue(), interpreters.create_queue(), []
    threads = [threading.Thread(target=collect, args=(results, found))]
    interps = [interpreters.create() for _ in range(WORKERS)]  # what one has put into a queue is lost when it ends
    threads += [threading.Thread(target=serve, args=(interp, tasks, results)) for interp in interps]
    for thread in threads:
        thread.start()
    for number in range(REQUESTS):
        tasks.put_nowait((number, None if number % 11 == 5 else tuple(range(number % 20))))
    for _ in range(WORKERS):
        tasks.put_nowait("stop")
    for thread in threads:
        thread.join()
    for interp in interps:
        interp.close()
    errors = sorted({error for _, _, error in found if error})
    print(len(found), "results,", sum(bool(error) for *_, error in found), "of them errors:", sum(total for _, total, _ in found))
    print("an error:", *errors)
    try:
        results.get_nowait()
    except interpreters.QueueEmpty:
        print("the queue is empty")
