# packages: python3-stemmer
import Stemmer

stemmer = Stemmer.Stemmer("english")
assert stemmer.stemWords(["gorgons", "turning", "stones"]) == ["gorgon", "turn", "stone"]
assert "german" in Stemmer.algorithms() and Stemmer.Stemmer("german").stemWord("h\u00e4user") == "haus"
try:
    Stemmer.Stemmer("klingon")
except KeyError:
    pass
else:
    raise AssertionError("an unknown language")
