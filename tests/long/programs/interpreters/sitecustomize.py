# SPDX-License-Identifier: MIT
"""Of the program and of each of its interpreters: gorgon.interpreters under the name that CPython's tests import."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

STAND_INS = {"concurrent.interpreters": "gorgon.interpreters", "concurrent.interpreters._queues": "gorgon._queues",
             "concurrent.interpreters._crossinterp": "_crossinterp"}
TESTS = {"test.test_interpreters", "test._crossinterp_definitions", "test._code_definitions"}


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in TESTS:
            importlib.import_module("_newer")
            return importlib.machinery.PathFinder.find_spec(name, [os.environ["TESTS"]])
        return importlib.util.spec_from_loader(name, self) if name in STAND_INS else None

    def create_module(self, spec):
        module = importlib.import_module(STAND_INS[spec.name])
        if spec.name == "concurrent.interpreters":
            module.__path__, module._crossinterp = [], importlib.import_module("_crossinterp")
        return module

    def exec_module(self, module):
        pass


sys.meta_path.insert(0, Finder())
