# packages: python3-newt
import snack

button = snack.Button("press")
grid = snack.Grid(2, 1)
grid.setField(button, 0, 0)
grid.setField(snack.Label("text"), 1, 0)
entry = snack.Entry(10, "initial")
entry.set("other")
assert entry.value() == "other"
check = snack.Checkbox("check", 1)
assert check.selected()
check.setValue(" ")
assert not check.selected()
box = snack.Listbox(5)
box.append("one", "first")
box.append("two", "second")
box.setCurrent("second")
assert box.current() == "second"
text, width, height = snack.reflow("the gorgon turns men to stone", 10)
assert text == "the gorgon\nturns men\nto stone\n" and (width, height) == (10, 3), text
