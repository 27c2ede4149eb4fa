# packages: python3-apsw
import tempfile

import apsw

folder = tempfile.mkdtemp(dir=".")
base = apsw.Connection(f"{folder}/file.db")
base.createscalarfunction("thrice", lambda value: 3 * value, 1)
seen = []
base.setupdatehook(lambda kind, database, table, row: seen.append((table, row)))
base.cursor().execute("create table t(x); insert into t values (1), (2); insert into t values (thrice(5))")
assert base.cursor().execute("select sum(x) from t").fetchall() == [(18,)]
assert seen == [("t", 1), ("t", 2), ("t", 3)], seen
try:
    base.cursor().execute("select x from nowhere")
    raise AssertionError("no exception")
except apsw.SQLError as error:
    assert "nowhere" in str(error)
