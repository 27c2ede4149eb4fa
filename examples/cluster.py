#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""One worker of dask.distributed for a whole machine, which computes in interpreters: a history of prices is there once, and each
task sees it where it is.

    cluster.py [interpreters | processes | threads] [MIB]

prints the value at risk of 40 portfolios, how long that took, how much memory the workers had, and what they sent each other.
Needs dask, distributed and numpy. Processes each have a copy of the history; threads wait for each other's GIL."""

import logging
import sys
import time

import numpy
from distributed import Client, LocalCluster

KIND = sys.argv[1] if len(sys.argv) > 1 else "interpreters"
MIB = int(sys.argv[2]) if len(sys.argv) > 2 else 200
WORKERS = 2
STOCKS = 100


def value_at_risk(history, seed, days=20):
    """The loss which one month in twenty is worse than, by months drawn from the history."""
    import random
    draw = random.Random(seed)
    weights = [draw.random() for _ in range(STOCKS)]
    total = sum(weights)
    losses = []
    for _ in range(400):
        value = 1.0
        for _ in range(days):
            moves = history[draw.randrange(len(history))]
            value *= 1 + sum(weight * move for weight, move in zip(weights, moves.tolist())) / total
        losses.append(1 - value)
    return sorted(losses)[int(len(losses) * 0.95)]


def memory(dask_worker):
    return dask_worker.monitor.proc.memory_full_info().uss


def sent(dask_worker):
    return dask_worker.transfer_outgoing_bytes_total


def main():
    options = {"processes": {"n_workers": WORKERS, "threads_per_worker": 1},
               "threads": {"n_workers": 1, "threads_per_worker": WORKERS},
               "interpreters": {"n_workers": 1, "threads_per_worker": WORKERS}}[KIND]
    with LocalCluster(**options, dashboard_address=None, silence_logs=logging.CRITICAL) as cluster, Client(cluster) as client:
        if KIND == "interpreters":
            import gorgon.distributed
            client.register_plugin(gorgon.distributed.Interpreters(copy_arguments=False))  # tasks only read what they get
        history = client.submit(lambda: numpy.random.default_rng(1).normal(0, 0.01, (MIB * 131072 // STOCKS, STOCKS)))
        client.gather(client.map(value_at_risk, [history] * WORKERS, range(WORKERS), pure=False))  # workers are warm
        began = time.monotonic()
        results = client.gather(client.map(value_at_risk, [history] * 40, range(40), pure=False))
        seconds = time.monotonic() - began
        print(f"value at risk: {min(results):.4f} to {max(results):.4f}")
        print(f"{KIND}: {seconds:.1f} s, {sum(client.run(memory).values()) / 2**20:.0f} MiB, "
              f"{sum(client.run(sent).values()) / 2**20:.0f} MiB sent")


if __name__ == "__main__":
    main()
