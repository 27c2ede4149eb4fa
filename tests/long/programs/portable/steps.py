# SPDX-License-Identifier: MIT
"""Two interpreters wait for each other at steps, through a queue for each direction, as PEP 734 says. Prints:

    A begins
    1 has 14
    B has 1
    2 has 55
    C has 2
"""

import threading

from concurrent import interpreters

WORK = """if True:
    from sums import norm
    for step, count in (1, 4), (2, 6):
        there.get()
        print(step, "has", norm(range(count)), flush=True)
        back.put(step)
    """


def work(interp, there, back):
    interp.prepare_main(there=there, back=back)
    interp.exec(WORK)


if __name__ == "__main__":
    there, back = interpreters.create_queue(), interpreters.create_queue(maxsize=1)
    interp = interpreters.create()
    thread = threading.Thread(target=work, args=(interp, there, back))
    thread.start()
    print("A begins", flush=True)
    for name in "BC":
        there.put(None)
        print(name, "has", back.get(), flush=True)
    thread.join()
    interp.close()
