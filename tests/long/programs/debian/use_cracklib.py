# packages: python3-cracklib libcrack2 cracklib-runtime
import cracklib

assert cracklib.VeryFascistCheck("Ux7!qpZ0mmK") == "Ux7!qpZ0mmK"
try:
    cracklib.VeryFascistCheck("aaaa")
    raise AssertionError("no exception")
except ValueError:
    pass
