# packages: python3-libsass
import sass

assert sass.compile(string="$w: 4px; a { b { width: $w * 2 } }", output_style="compressed") == "a b{width:8px}\n"
twice = sass.SassFunction("twice", ("$x",), lambda x: sass.SassNumber(x.value * 2, ""))
assert "width: 42" in sass.compile(string="a { width: twice(21) }", custom_functions=[twice])
try:
    sass.compile(string="a {")
    raise AssertionError("no exception")
except sass.CompileError:
    pass
