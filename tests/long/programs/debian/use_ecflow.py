# packages: python3-ecflow
import ecflow

definition = ecflow.Defs()
suite = definition.add_suite("s")
suite.add_task("t").add_trigger("1 == 1")
suite.add_variable("HOME", "/there")
assert definition.check() == "" and definition.find_abs_node("/s/t").name() == "t"
assert suite.find_variable("HOME").value() == "/there"
try:
    definition.add_suite("s")
    raise AssertionError("no exception")
except RuntimeError:
    pass
