# packages: python3-regex
import threading

import regex

assert regex.fullmatch(r"(?P<x>\((?:[^()]|(?&x))*\))", "(a(b)(c(d)))")
assert regex.search(r"(?:gorgon){e<=1}", "a gorgn here").group() == "gorgn"
found = []
threads = [threading.Thread(target=lambda: found.append(len(regex.findall(r"\p{Lu}", "AbC" * 1000, concurrent=True))))
           for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert found == [2000] * 3
try:
    regex.compile("(")
except regex.error as error:
    assert error.pos == 1, error.pos
else:
    raise AssertionError("compiled nonsense")
