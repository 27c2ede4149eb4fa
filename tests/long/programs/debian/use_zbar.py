# packages: python3-zbar
import zbar

# An EAN-8 code by hand: seven modules for each digit, two pixels wide.
DIGITS = "0001101 0011001 0010011 0111101 0100011 0110001 0101111 0111011 0110111 0001011".split()
OTHERS = [digit.translate(str.maketrans("01", "10")) for digit in DIGITS]
left, right = ("".join(kind[int(digit)] for digit in text) for kind, text in ((DIGITS, "9638"), (OTHERS, "5074")))
modules = "0" * 10 + "101" + left + "01010" + right + "101" + "0" * 10
row = b"".join(b"\0\0" if module == "1" else b"\xff\xff" for module in modules)
image = zbar.Image(len(row), 40, "Y800", row * 40)
scanner = zbar.ImageScanner()
scanner.set_config(zbar.Symbol.EAN8, zbar.Config.ENABLE, 1)
assert scanner.scan(image) == 1
assert [(str(symbol.type), symbol.data) for symbol in image] == [("EAN8", "96385074")]
try:
    scanner.parse_config("nonsense")
except ValueError:
    pass
else:
    raise AssertionError("configured nonsense")
