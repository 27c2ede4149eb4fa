# packages: python3-pandas
import io

import pandas

text = "day,key,value\n2026-11-22,a,1\n2026-11-23,b,2\n2026-11-24,a,3\n"
frame = pandas.read_csv(io.StringIO(text), parse_dates=["day"])
assert frame.groupby("key").value.sum().to_dict() == {"a": 4, "b": 2}
assert frame.set_index("day").value.resample("2D").sum().tolist() == [3, 3]
assert frame.merge(pandas.DataFrame({"key": ["a"], "name": ["first"]}), on="key").name.tolist() == ["first"] * 2
assert frame.value.rolling(2).mean().tolist()[1:] == [1.5, 2.5]
assert pandas.read_json(io.StringIO(frame.to_json())).value.sum() == 6
try:
    pandas.to_datetime("no date")
except ValueError as error:
    assert "no date" in str(error), error
else:
    raise AssertionError("a date out of nothing")
