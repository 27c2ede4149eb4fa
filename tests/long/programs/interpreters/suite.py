# SPDX-License-Identifier: MIT
"""CPython's own tests of concurrent.interpreters, of the folder $TESTS. The last line that it prints is JSON:
{"module.Class.test": [outcome, text]}."""

import json
import signal
import sys
import unittest

MODULES = "test_api", "test_lifecycle", "test_queues", "test_stress"
LIMIT = 900  # seconds for a test: two hundred interpreters on a busy machine


def stop(number, frame):
    raise TimeoutError(f"{LIMIT} seconds have passed")


def tests(suite):
    for each in suite:
        yield from tests(each) if isinstance(each, unittest.TestSuite) else [each]


def outcome_of(test):
    result = unittest.TestResult()
    signal.alarm(LIMIT)
    test.run(result)
    signal.alarm(0)
    for _, text in result.errors + result.failures:
        return "failed", text
    return ("skipped", result.skipped[0][1]) if result.skipped else ("passed", "")


def main(words):
    signal.signal(signal.SIGALRM, stop)
    outcomes = {}
    for module in MODULES:
        for test in tests(unittest.defaultTestLoader.loadTestsFromName(f"test.test_interpreters.{module}")):
            name = test.id().removeprefix("test.test_interpreters.")
            if not words or any(word in name for word in words):
                outcomes[name] = outcome_of(test)
    print("\n" + json.dumps(outcomes))


if __name__ == "__main__":
    main(sys.argv[1:])
