# packages: duckdb
import duckdb
import pandas

frame = pandas.DataFrame({"a": range(1000)})
with duckdb.connect() as db:
    assert db.execute("select sum(a), count(*) from frame where a % 2 = 0").fetchall() == [(249500, 500)]
    db.create_function("twice", lambda n: 2 * n, ["BIGINT"], "BIGINT")
    assert db.execute("select twice(21)").fetchall() == [(42,)]
    try:
        db.execute("select no_such_column from frame")
    except duckdb.BinderException:
        pass
    else:
        raise AssertionError("an unknown column was accepted")
