# SPDX-License-Identifier: MIT
"""An event loop gives its heavy work to the pool."""

import asyncio
from concurrent.futures import ProcessPoolExecutor


def collatz(n):
    steps = 0
    while n != 1:
        n, steps = (n // 2 if n % 2 == 0 else 3 * n + 1), steps + 1
    return steps


async def main(pool):
    loop = asyncio.get_running_loop()
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    steps = await asyncio.gather(*(loop.run_in_executor(pool, collatz, n) for n in range(100_000, 100_010)))
    ticker.cancel()
    print(steps, ticks > 0)


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        asyncio.run(main(pool))
