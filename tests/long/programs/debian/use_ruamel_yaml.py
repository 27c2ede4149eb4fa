# packages: python3-ruamel.yaml.clib python3-ruamel.yaml
import io

import ruamel.yaml
from ruamel.yaml.cyaml import CParser

yaml = ruamel.yaml.YAML(typ="safe")
assert yaml.Parser is CParser
assert yaml.load("a: [1, 2.5, ~]\nb: &x {c: d}\ne: *x\n") == {"a": [1, 2.5, None], "b": {"c": "d"}, "e": {"c": "d"}}
try:
    yaml.load("a: [1")
except ruamel.yaml.parser.ParserError as error:
    assert "flow sequence" in str(error), error
else:
    raise AssertionError("parsed half a list")
output = io.StringIO()
yaml.dump({"a": [1, 2]}, output)
assert output.getvalue() == "a: [1, 2]\n", output.getvalue()
