"""A class whose __init__ CPython 3.13 calls without C once it was called often."""


class Kind:
    def __init__(self, v):
        self.v = v


def make(n):
    k = Kind(n)
    return k


for i in range(200):
    make(i)
make(1000)
print("end")
