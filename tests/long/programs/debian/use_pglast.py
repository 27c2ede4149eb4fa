# packages: python3-pglast
import pglast

tree = pglast.parse_sql("select a, b + 1 from t where c = 'x'")
assert len(tree[0].stmt.targetList) == 2 and tree[0].stmt.fromClause[0].relname == "t"
assert pglast.fingerprint("select 1") == pglast.fingerprint("select 2")
try:
    pglast.parse_sql("select from where")
except pglast.parser.ParseError as error:
    assert "syntax error" in str(error), error
else:
    raise AssertionError("parsed nonsense")
