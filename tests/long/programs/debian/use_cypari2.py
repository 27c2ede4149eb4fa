# packages: python3-cypari2
import cypari2

pari = cypari2.Pari()
assert str(pari("factor(2^64+1)")) == "[274177, 1; 67280421310721, 1]"
assert pari.zeta(2).precision() and abs(float(pari.zeta(2)) - 1.6449340668482264) < 1e-15
try:
    pari("1/0")
    raise AssertionError("no exception")
except cypari2.PariError as error:
    assert "impossible inverse" in str(error)
