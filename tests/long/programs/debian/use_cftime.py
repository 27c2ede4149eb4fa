# packages: python3-cftime
import cftime
import numpy

days = cftime.num2date(numpy.array([0, 59]), "days since 2001-01-01", calendar="360_day")
assert [str(day) for day in days] == ["2001-01-01 00:00:00", "2001-02-30 00:00:00"]
assert cftime.date2num(days, "hours since 2001-01-01", calendar="360_day").tolist() == [0, 59 * 24]
try:
    cftime.DatetimeNoLeap(2000, 2, 29)
    raise AssertionError("no exception")
except ValueError:
    pass
