# packages: python3-beancount
from beancount import loader
from beancount.core import realization

entries, errors, options = loader.load_string("""
2026-01-01 open Assets:Cash EUR
2026-01-01 open Expenses:Food
2026-01-02 * "Lunch"
  Expenses:Food   7.50 EUR
  Assets:Cash
""")
assert not errors and len(entries) == 3, errors
account = realization.get(realization.realize(entries), "Assets:Cash")
assert str(account.balance) == "(-7.50 EUR)", account.balance
