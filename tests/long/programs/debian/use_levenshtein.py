# packages: python3-levenshtein
import Levenshtein

assert Levenshtein.distance("snake", "sneak") == 2 and Levenshtein.editops("ab", "b") == [("delete", 0, 0)]
assert Levenshtein.median(["cat", "bat", "cat"]) == "cat"
