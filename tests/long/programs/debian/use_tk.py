# packages: python3-tk
import tkinter

interp = tkinter.Tcl()
assert interp.eval("expr {6 * 7}") == "42" and interp.tk.splitlist("a {b c} d") == ("a", "b c", "d")
called = []
interp.createcommand("call", lambda *args: called.append(args) or "back")
assert interp.eval("call 1 two") == "back" and called == [("1", "two")]
interp.eval("after 10 {set done 1}; vwait done")
assert interp.getvar("done") in (1, "1")
try:
    interp.eval("error {no good}")
except tkinter.TclError as error:
    assert str(error) == "no good"
else:
    raise AssertionError("no error")
try:
    tkinter.Tk(screenName=":7777")
except tkinter.TclError as error:
    assert "display" in str(error), error
else:
    raise AssertionError("a window without a display")
