# packages: python3-yaml
import yaml

assert yaml.__with_libyaml__
text = "a: [1, 2.5, ~]\nb: &x {c: d}\ne: *x\n"
value = yaml.load(text, yaml.CSafeLoader)
assert value == {"a": [1, 2.5, None], "b": {"c": "d"}, "e": {"c": "d"}}
assert yaml.dump({"a": [1, 2]}, Dumper=yaml.CSafeDumper) == "a:\n- 1\n- 2\n"
try:
    yaml.load("a: [1", yaml.CSafeLoader)
except yaml.YAMLError as error:
    assert "flow sequence" in str(error), error
else:
    raise AssertionError("parsed half a list")
