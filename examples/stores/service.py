#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A FastAPI service, each process of which has a pool of interpreters.

    pip install fastapi uvicorn numpy gorgon-interpreters
    uvicorn service:app --workers 2                       (or --reload)
    curl http://127.0.0.1:8000/stores/3?draws=1000        an answer that takes a while
    curl -X POST http://127.0.0.1:8000/jobs               all stores: a job, which tells how far it is
    curl -X DELETE http://127.0.0.1:8000/jobs/1           stops it

The thread with the event loop waits for no GIL, so it answers at once whatever the interpreters do. The sales of all stores are in a
process's memory once: interpreters see them where they are. Ctrl-C and a reload wait for requests, as uvicorn does, and stop jobs.

    service.py [REQUESTS]

starts it with threads (POOL=threads) and with interpreters, asks for that many answers, eight at once, and prints how long they
took, and how long /alive took meanwhile."""

import asyncio
import contextlib
import itertools
import os
import re
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import CancelledError, ThreadPoolExecutor

import numpy
import sales
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from gorgon import InterpreterPoolExecutor, TimeLimitExceeded

SECONDS = float(os.environ.get("STORES_SECONDS", "60"))  # that a call may take
SALES = numpy.random.default_rng(1).poisson(200, (50, 730)).astype(float)  # stores, days


class Stopped(Exception):
    pass


class Jobs:
    """Futures by number, and how far their calls are."""

    def __init__(self):
        self.numbers, self.futures, self.done, self.stopped = itertools.count(1), {}, {}, set()

    def progress(self, future, done):
        self.done[future] = done
        if future in self.stopped:
            raise Stopped  # in the call, too

    def find(self, number):
        if number not in self.futures:
            raise HTTPException(404, f"no job {number}")
        return self.futures[number]


@contextlib.asynccontextmanager
async def lifespan(app):
    jobs = app.state.jobs = Jobs()
    if os.environ.get("POOL") == "threads":
        app.state.pool, options = ThreadPoolExecutor(len(os.sched_getaffinity(0))), {}
    else:
        app.state.pool, options = InterpreterPoolExecutor(time_limit=SECONDS, progress=jobs.progress), {"interrupt": True}
    yield
    app.state.pool.shutdown(cancel_futures=True, **options)


app = FastAPI(lifespan=lifespan)


@app.exception_handler(ValueError)
async def refused(request: Request, error: ValueError):
    return JSONResponse({"detail": str(error)}, 422)


@app.exception_handler(TimeLimitExceeded)
async def late(request: Request, error: TimeLimitExceeded):
    return JSONResponse({"detail": f"no answer within {SECONDS:g} s"}, 504)


@app.get("/alive")
async def alive():
    return {"process": os.getpid()}


@app.get("/stores/{store}")
async def store(store: int, draws: int = 200):
    if not 0 <= store < len(SALES):
        raise HTTPException(404, f"no store {store}")
    low, high = await asyncio.wrap_future(app.state.pool.submit(sales.interval, SALES[store], draws))
    return {"low": low, "high": high, "process": os.getpid()}


@app.post("/jobs", status_code=202)
async def begin(draws: int = 200):
    jobs, number = app.state.jobs, next(app.state.jobs.numbers)
    jobs.futures[number] = app.state.pool.submit(sales.report, SALES, draws)
    return {"job": number}


@app.get("/jobs/{number}")
async def look(number: int):
    jobs, future = app.state.jobs, app.state.jobs.find(number)
    if not future.done():
        return {"state": "runs" if future.running() else "waits", "stores": jobs.done.get(future, 0)}
    try:
        return {"state": "done", "intervals": future.result()}
    except (Stopped, CancelledError):
        return {"state": "stopped"}


@app.delete("/jobs/{number}", status_code=202)
async def stop(number: int):
    future = app.state.jobs.find(number)
    future.cancel()  # if it waits; progress() stops what runs
    app.state.jobs.stopped.add(future)


def measure(requests, kind):
    with subprocess.Popen([sys.executable, "-m", "uvicorn", "service:app", "--port", "0", "--no-access-log"], stderr=subprocess.PIPE,
                          text=True, cwd=os.path.dirname(os.path.abspath(__file__)), env={**os.environ, "POOL": kind}) as server:
        url = next(found[0] for line in server.stderr if (found := re.search(r"http://\S+", line)))

        def ask(path):
            began = time.monotonic()
            urllib.request.urlopen(url + path, timeout=300).read()
            return time.monotonic() - began

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(ask, ["/stores/1?draws=20"] * 8))  # workers are warm
            began, waits = time.monotonic(), []
            futures = [threads.submit(ask, f"/stores/{i % 50}?draws=500") for i in range(requests)]
            while not all(future.done() for future in futures):
                waits.append(ask("/alive"))
                time.sleep(0.02)
            seconds = time.monotonic() - began
        server.terminate()
        print(f"{kind}: {requests} answers in {seconds:.1f} s; /alive took {1000 * sorted(waits)[len(waits) // 2]:.0f} ms, at most "
              f"{1000 * max(waits):.0f} ms", flush=True)


if __name__ == "__main__":
    for kind in "threads", "interpreters":
        measure(int(sys.argv[1]) if len(sys.argv) > 1 else 40, kind)
