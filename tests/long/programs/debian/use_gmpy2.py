# packages: python3-gmpy2
import gmpy2

assert gmpy2.is_prime(2 ** 127 - 1) and gmpy2.mpz(2) ** 100 % 1000 == 376
with gmpy2.context(precision=200):
    assert str(gmpy2.const_pi())[:40] == "3.14159265358979323846264338327950288419"
assert gmpy2.powmod(3, 1000, 7) == pow(3, 1000, 7)
try:
    gmpy2.mpz(1) // 0
    raise AssertionError("no exception")
except ZeroDivisionError:
    pass
