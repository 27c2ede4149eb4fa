# SPDX-License-Identifier: MIT
"""Scripts and modules in interpreters, interpreters that are prepared and used again, exceptions that come out of them: what a guide
to several interpreters shows. Prints:

    script: __main__ 14
    module: script 14
    path: <run_path> 14
    1024
    name='eggs' retries=3 options=('retry', 3)
    ZeroDivisionError builtins ZeroDivisionError: division by zero
    ZeroDivisionError: division by zero
    True True
    handled inside
    raised again: KeyError('spam')
    still 1024
    NotShareableError TypeError
    InterpreterNotFoundError
"""

import functools
import os
import pickle
import tempfile

from concurrent import interpreters

print = functools.partial(print, flush=True)  # interpreters have a buffer each
SCRIPT = """
from sums import norm
print(f"{what}: {__name__} {norm([1, 2, 3])}" if "what" in globals() else f"module: {__name__} {norm([1, 2, 3])}", flush=True)
"""


def run_script(folder):
    path = os.path.join(folder, "script.py")
    with open(path, "w") as file:
        file.write(SCRIPT)
    interp = interpreters.create()
    interp.prepare_main(what="script")
    with open(path) as file:
        interp.exec(file.read())
    interp.exec(f"import sys; sys.path.insert(0, {folder!r}); import runpy; runpy.run_module('script', run_name='script')")
    interp.exec(f"import runpy; runpy.run_path({path!r}, dict(what='path'))")
    interp.close()


def double(interp):
    interp.exec("""if True:
        import math
        value = 1
        def double(n):
            return n + n
        """)
    for _ in range(10):
        interp.exec("""if True:
            assert math.factorial(value.bit_length() + 1) > value.bit_length()
            value = double(value)
            """)
    interp.exec("print(value, flush=True)")


def fail(interp):
    try:
        interp.exec("1 / 0")
    except interpreters.ExecutionFailed as error:
        info = error.excinfo
        print(info.type.__name__, info.type.__module__, info.formatted)
        print(str(error).splitlines()[0])
        print("Uncaught in the interpreter:" in str(error), "1 / 0" in str(error) or "<script>" in str(error))
    interp.exec("""if True:
        try:
            1 / 0
        except ZeroDivisionError:
            print("handled inside", flush=True)
        """)
    try:
        try:
            interp.exec("""if True:
                class Carried(Exception):
                    pass
                try:
                    {}["spam"]
                except Exception as error:
                    import pickle
                    raise Carried(pickle.dumps(error, 0).decode())
                """)
        except interpreters.ExecutionFailed as error:
            if error.excinfo.type.__name__ != "Carried":
                raise
            raise pickle.loads(error.excinfo.msg.encode())
    except KeyError as error:
        print(f"raised again: {error!r}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        run_script(folder)
    interp = interpreters.create()
    double(interp)
    interp.prepare_main({"name": "eggs"}, retries=3, options=("retry", 3))
    interp.exec("print(f'{name=} {retries=} {options=}', flush=True)")
    fail(interp)
    interp.exec("print('still', value, flush=True)")
    try:
        interp.prepare_main(lock=__import__("threading").Lock())
    except interpreters.NotShareableError as error:
        print(type(error).__name__, type(error).__mro__[1].__name__)
    interp.close()
    try:
        interp.exec("pass")
    except interpreters.InterpreterNotFoundError as error:
        print(type(error).__name__)
