# packages: python3-ciso8601
import ciso8601

moment = ciso8601.parse_datetime("2026-11-22T10:11:12.345678+02:00")
assert moment.isoformat() == "2026-11-22T10:11:12.345678+02:00"
try:
    ciso8601.parse_datetime("2026-13-01")
    raise AssertionError("no exception")
except ValueError as error:
    assert "month" in str(error)
