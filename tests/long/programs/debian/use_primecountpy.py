# packages: python3-primecountpy
from primecountpy import primecount

assert primecount.prime_pi(10**9) == 50847534 and primecount.nth_prime(10000) == 104729
assert primecount.phi(1000, 3) == 266
