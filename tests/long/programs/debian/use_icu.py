# packages: python3-icu
import icu

collator = icu.Collator.createInstance(icu.Locale("de"))
assert sorted(["z", "\u00e4", "a"], key=collator.getSortKey) == ["a", "\u00e4", "z"]
assert icu.Transliterator.createInstance("Greek-Latin").transliterate("\u03b1\u03b2\u03b3") == "abg"
words = icu.BreakIterator.createWordInstance(icu.Locale.getUS())
words.setText("two words")
assert list(words) == [3, 4, 9]
assert icu.NumberFormat.createInstance(icu.Locale("de_DE")).format(1234.5) == "1.234,5"
try:
    icu.Transliterator.createInstance("no such thing")
    raise AssertionError("no exception")
except icu.ICUError:
    pass
