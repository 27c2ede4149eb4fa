# packages: python3-jellyfish
from jellyfish import cjellyfish

assert cjellyfish.levenshtein_distance("snake", "sneak") == 2 and cjellyfish.metaphone("snake") == "SNK"
assert cjellyfish.match_rating_codex("Smith") == "SMTH"
