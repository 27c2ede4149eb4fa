# SPDX-License-Identifier: MIT
"""Who has the token may change the shared buffer: a queue in place of a lock, as PEP 734 says. Prints:

    changed by workers to 20: True
    each byte alike: True
"""

import threading

from concurrent import interpreters

WORKERS, LAST = 4, 20
WORK = """if True:
    from sums import raise_by
    while (token := control.get()) != "stop":
        if data[0] < last:
            raise_by(data, 1)
        control.put_nowait(token)
    control.put_nowait("stop")
    """


def change(interp, control, data):
    interp.prepare_main(control=control, data=data, last=LAST)
    interp.exec(WORK)


if __name__ == "__main__":
    control, data = interpreters.create_queue(), memoryview(bytearray(1000))
    interps = [interpreters.create() for _ in range(WORKERS)]  # the token is lost when the interpreter ends that has put it
    threads = [threading.Thread(target=change, args=(interp, control, data)) for interp in interps]
    for thread in threads:
        thread.start()
    token = "ball"
    control.put(token)
    while (token := control.get()) and data[0] < LAST:
        control.put(token)
    control.put("stop")
    for thread in threads:
        thread.join()
    for interp in interps:
        interp.close()
    print(f"changed by workers to {LAST}:", data[0] == LAST)
    print("each byte alike:", set(data) == {LAST})
