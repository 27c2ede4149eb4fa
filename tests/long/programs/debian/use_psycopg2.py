# packages: python3-psycopg2
import psycopg2
import psycopg2.extensions

assert psycopg2.extensions.adapt([1, "it's", None]).getquoted() == b"ARRAY[1,'it''s',NULL]"
assert psycopg2.extensions.parse_dsn("dbname=test host=here")["dbname"] == "test"
assert psycopg2.extensions.libpq_version() > 100000
adapted = []
psycopg2.extensions.register_adapter(complex, lambda value: adapted.append(value) or psycopg2.extensions.AsIs("1"))
psycopg2.extensions.adapt(1j)
assert adapted == [1j]
try:
    psycopg2.connect(host="/nonexistent")
except psycopg2.OperationalError as error:
    assert "/nonexistent" in str(error), error
else:
    raise AssertionError("connected to nobody")
