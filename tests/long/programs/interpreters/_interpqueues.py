# SPDX-License-Identifier: MIT
"""For CPython's tests, which tidy up by this module of CPython's: what gorgon.interpreters has of it."""

from gorgon import _queues


kept = []


def create(size, unbound, fallback):
    kept.append(_queues.create(size))
    return kept[-1].id


def list_all():
    return [(queue.id, queue.unbounditems, 0) for queue in _queues.list_all()]


def destroy(number):
    kept[:] = [queue for queue in kept if queue.id != number]  # queues end with their last reference
