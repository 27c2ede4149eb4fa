# packages: python3-sqlalchemy-ext
import sqlalchemy
from sqlalchemy import cresultproxy

engine = sqlalchemy.create_engine("sqlite://")
with engine.connect() as connection:
    row = connection.execute(sqlalchemy.text("select 1 as a, 'x' as b")).fetchone()
    assert isinstance(row, cresultproxy.BaseRow) and row.a == 1 and tuple(row) == (1, "x")
    try:
        row.missing
    except AttributeError:
        pass
    else:
        raise AssertionError("a column that is not there")
