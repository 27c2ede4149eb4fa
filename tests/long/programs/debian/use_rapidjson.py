# packages: python3-rapidjson
import rapidjson

value = {"a": [1, 2.5, None], "b": "\u00fc"}
assert rapidjson.loads(rapidjson.dumps(value)) == value and rapidjson.dumps({1}, default=list) == "[1]"
validate = rapidjson.Validator('{"required": ["a"]}')
validate('{"a": 1}')
try:
    validate('{"b": 1}')
except rapidjson.ValidationError as error:
    assert error.args[0] == "required", error
else:
    raise AssertionError("validated what is not valid")
