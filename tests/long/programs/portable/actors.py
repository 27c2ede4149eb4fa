# SPDX-License-Identifier: MIT
"""Functions of the program as actors, each in an interpreter and on a thread of its own, and an event loop that waits for calls in
others: what tutorials of CPython 3.14 show. Prints:

    eight actors, 80 commands: 4320
    each has ended: True
    [5, 14, 30]
    unknown command 'dance'
    a loop inside: [0, 1, 4]
"""

import asyncio
import queue

from concurrent import interpreters

ACTORS, COMMANDS = 8, 80


def actor(name, commands, results):
    from sums import norm
    while (command := commands.get()) != ("quit",):
        kind, count = command
        results.put((name, norm(range(count)) if kind == "square" else None))
    results.put((name, "bye"))


def dance(command):
    raise ValueError(f"unknown command {command!r}")


def squares(count):
    from sums import norm
    return norm(range(count))


def run_loop(n):
    import asyncio

    async def square(i):
        await asyncio.sleep(0.01)
        return i * i

    async def main():
        return await asyncio.gather(*(square(i) for i in range(n)))

    return asyncio.run(main())


async def wait_for_calls(interps):
    calls = (asyncio.to_thread(interp.call, squares, count) for interp, count in zip(interps, (3, 4, 5)))
    return await asyncio.gather(*calls)


if __name__ == "__main__":
    commands, results = interpreters.create_queue(), interpreters.create_queue()
    interps = [interpreters.create() for _ in range(ACTORS)]
    threads = [interp.call_in_thread(actor, f"actor {i}", commands, results) for i, interp in enumerate(interps)]
    for i in range(COMMANDS):
        commands.put(("square", i % 10))
    for _ in threads:
        commands.put(("quit",))
    for thread in threads:
        thread.join()
    found = []
    while True:
        try:
            found.append(results.get_nowait())
        except queue.Empty:
            break
    ended = {name for name, value in found if value == "bye"}
    numbers = [value for _, value in found if value != "bye"]
    print(f"eight actors, {len(numbers)} commands:", sum(numbers))
    print("each has ended:", len(ended) == ACTORS)
    print(asyncio.run(wait_for_calls(interps)))
    try:
        interps[0].call(dance, "dance")
    except interpreters.ExecutionFailed as error:
        print(error.excinfo.msg)
    print("a loop inside:", interps[1].call(run_loop, 3))
    for interp in interps:
        interp.close()
