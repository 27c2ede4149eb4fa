# packages: python3-ephem
import ephem

sun = ephem.Sun("2026/6/21 12:00")
assert abs(float(sun.dec) * 57.29578 - 23.43) < 0.02, sun.dec
assert str(ephem.next_full_moon("2026/11/22"))[:10] == "2026/11/24"
london = ephem.city("London")
try:
    ephem.Date("no date")
    raise AssertionError("no exception")
except ValueError:
    pass
