# SPDX-License-Identifier: MIT
"""Interpreters that talk through pipes and files of the system, and what they print caught: what a guide to several interpreters
shows. Prints:

    a message: b'spam'
    step 1
    step 2 after the answer go
    lines: ['one', 'two']
    pickles: [14, 5, 0]
    caught: '14'
"""

import os
import pickle
import tempfile
import threading

from concurrent import interpreters


def message(interp):
    reader, writer = os.pipe()
    thread = threading.Thread(target=interp.exec, args=(f"import os; print('a message:', os.read({reader}, 20), flush=True)",))
    thread.start()
    os.write(writer, b"spam")
    thread.join()
    os.close(reader)
    os.close(writer)


def step(interp):
    (reader, told), (asked, writer) = os.pipe(), os.pipe()
    interp.prepare_main(asked=asked, told=told)
    thread = threading.Thread(target=interp.exec, args=("""if True:
        print("step 1", flush=True)
        os.write(told, b"?")
        print("step 2 after the answer", os.read(asked, 10).decode(), flush=True)
        """,))
    thread.start()
    os.read(reader, 1)
    os.write(writer, b"go")
    thread.join()
    for fd in reader, told, asked, writer:
        os.close(fd)


def file(interp):
    with tempfile.TemporaryFile("w+") as opened:
        opened.write("one\ntwo\n")
        opened.seek(0)
        interp.prepare_main(fd=opened.fileno())
        interp.exec("print('lines:', os.fdopen(os.dup(fd)).read().split(), flush=True)")


def pickles(interp):
    reader, writer = os.pipe()
    for numbers in [1, 2, 3], (2, 1), []:
        data = pickle.dumps(numbers)
        os.write(writer, len(data).to_bytes(4, "big") + data)
    os.close(writer)
    interp.prepare_main(reader=reader)
    interp.exec("""if True:
        import pickle
        from sums import norm
        totals = []
        while size := os.read(reader, 4):
            totals.append(norm(pickle.loads(os.read(reader, int.from_bytes(size, "big")))))
        print("pickles:", totals, flush=True)
        """)
    os.close(reader)


def caught(interp):
    interp.exec("""if True:
        import contextlib, io
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            print(norm([1, 2, 3]))
        """)
    print("caught:", repr(interp.call(eval, "text.getvalue().strip()")))


if __name__ == "__main__":
    interp = interpreters.create()
    for part in message, step, file, pickles, caught:
        part(interp)
    interp.close()
