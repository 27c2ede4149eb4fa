# packages: PyYAML
import yaml

assert yaml.__with_libyaml__
assert yaml.load("a: [1, 2.5, yes]\nb: {c: ~}\n", yaml.CSafeLoader) == {"a": [1, 2.5, True], "b": {"c": None}}
assert yaml.dump({"x": [1]}, Dumper=yaml.CSafeDumper, default_flow_style=True) == "{x: [1]}\n"
