# packages: SQLAlchemy
from sqlalchemy import create_engine, text
from sqlalchemy.util import _immutabledict_cy

assert _immutabledict_cy.__file__.endswith(".so")
with create_engine("sqlite://").begin() as db:
    db.execute(text("create table t (a integer)"))
    db.execute(text("insert into t values (:a)"), [{"a": 1}, {"a": 41}])
    assert db.execute(text("select sum(a) from t")).scalar() == 42
