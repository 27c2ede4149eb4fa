# packages: python3-lupa
import lupa

lua = lupa.LuaRuntime(unpack_returned_tuples=True)
assert lua.eval("function(f, n) return f(n) + 1 end")(lambda n: n * n, 6) == 37
assert list(lua.eval("{1, 2, 'x'}").values()) == [1, 2, "x"]


def fail():
    raise LookupError("from a callback")


try:
    lua.eval("function(f) f() end")(fail)
    raise AssertionError("no exception")
except LookupError:
    pass
try:
    lua.execute("error('from Lua')")
    raise AssertionError("no exception")
except lupa.LuaError as error:
    assert "from Lua" in str(error)
