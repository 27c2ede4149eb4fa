# packages: python3-rjsmin
import _rjsmin
import rjsmin

assert rjsmin.jsmin is _rjsmin.jsmin
assert rjsmin.jsmin("var a = 1 ; // note\nvar b = /x y/ ;") == "var a=1;var b=/x y/;"
