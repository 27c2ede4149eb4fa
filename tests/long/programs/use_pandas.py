# SPDX-License-Identifier: MIT
"""pandas: groupby, a Python aggregate, a join, dates, CSV there and back."""

import rounds

rounds.begin()

import io  # noqa: E402

import pandas  # noqa: E402

frame = pandas.DataFrame({"key": [i % 7 for i in range(10_000)], "value": range(10_000),
                          "day": pandas.date_range("2020-01-01", periods=10_000, freq="H")})
sums = frame.groupby("key")["value"].sum()
assert sums.to_dict() == {k: sum(range(k, 10_000, 7)) for k in range(7)}
spread = frame.groupby("key")["value"].agg(lambda group: int(group.max() - group.min()))
assert spread.tolist() == [len(range(k, 10_000, 7)) * 7 - 7 for k in range(7)]
names = pandas.DataFrame({"key": range(7), "name": list("abcdefg")})
assert frame.merge(names, on="key").groupby("name").size().sum() == 10_000
assert frame.set_index("day")["value"].resample("M").count().iloc[:2].tolist() == [31 * 24, 29 * 24]
again = pandas.read_csv(io.StringIO(frame.to_csv(index=False)), parse_dates=["day"])
assert again.equals(frame)
rounds.done()
