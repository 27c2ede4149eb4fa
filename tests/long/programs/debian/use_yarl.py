# packages: python3-yarl
import yarl
from yarl import _quoting, _quoting_c

assert _quoting._Quoter is _quoting_c._Quoter
assert str(yarl.URL("http://example.org/a b/\u00fc?x=1 2")) == "http://example.org/a%20b/%C3%BC?x=1+2"
assert _quoting_c._Unquoter()("%C3%BC%20") == "\u00fc "
