# packages: RapidFuzz
from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

assert Levenshtein.distance("kitten", "sitting") == 3
assert process.extractOne("gorgn", ["medusa", "gorgon", "hydra"], scorer=fuzz.ratio)[0] == "gorgon"
