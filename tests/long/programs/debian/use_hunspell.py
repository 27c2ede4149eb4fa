# packages: python3-hunspell hunspell-en-us
import hunspell

checker = hunspell.HunSpell("/usr/share/hunspell/en_US.dic", "/usr/share/hunspell/en_US.aff")
assert checker.spell("snake") and not checker.spell("snkae")
assert "snake" in checker.suggest("snkae") and checker.stem("snakes") == [b"snake"]
