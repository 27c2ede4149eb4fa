# packages: pydantic-core
from pydantic import BaseModel, Field, ValidationError


class Snake(BaseModel):
    name: str
    length: float = Field(gt=0)
    heads: list[int] = []


assert Snake.model_validate_json('{"name": "a", "length": "1.5", "heads": ["1", 2]}').model_dump() == {
    "name": "a", "length": 1.5, "heads": [1, 2]}
try:
    Snake(name="b", length=-1)
except ValidationError as error:
    assert error.errors()[0]["type"] == "greater_than"
else:
    raise AssertionError("a negative length was accepted")
