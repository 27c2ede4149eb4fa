# SPDX-License-Identifier: MIT
"""Code and calls in an interpreter, as the manual of CPython's module begins. Prints:

    spam in __main__
    spam in a block
    spam in text without its margin
    given spam
    spam of a function
    spam of a thread
    [0, 1] True 5
    30
    no answer here: True
    closed, 1 left
"""

from textwrap import dedent

from concurrent import interpreters


def give(text):
    return f"given {text}"


def say(who="function"):
    print(f"spam of a {who}", flush=True)


def squares(numbers):
    from sums import norm
    return norm(numbers)


if __name__ == "__main__":
    interp = interpreters.create()
    interp.exec("print('spam in', __name__, flush=True)")
    interp.exec("""if True:
        print('spam in a block', flush=True)
        """)
    interp.exec(dedent("""
        print('spam in text without its margin', flush=True)
        answer = 5
        """))
    print(interp.call(give, "spam"), flush=True)
    interp.call(say)
    interp.call_in_thread(say, "thread").join()
    known = interpreters.list_all()
    print([each.id for each in known], known[0] is interpreters.get_current() is interpreters.get_main(), interp.call(eval, "answer"))
    print(interp.call(squares, [1, 2, 3, 4]))
    print("no answer here:", "answer" not in globals())
    interp.close()
    print("closed,", len(interpreters.list_all()), "left")
