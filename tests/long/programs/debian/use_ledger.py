# packages: python3-ledger
import ledger

journal = ledger.read_journal_from_string("2026/01/02 Lunch\n    Food   7.50 EUR\n    Cash\n")
total = sum((post.amount for post in journal.query("Food")), ledger.Balance())
assert str(total) == "7.50 EUR", str(total)
assert ledger.Amount("$10.00") * 3 == ledger.Amount("$30.00")
try:
    ledger.Amount("$1") / ledger.Amount("$0")
    raise AssertionError("no exception")
except ArithmeticError:
    pass
