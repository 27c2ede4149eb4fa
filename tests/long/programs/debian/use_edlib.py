# packages: python3-edlib
import edlib

found = edlib.align("elephant", "telephone", task="path")
assert found["editDistance"] == 3
assert edlib.getNiceAlignment(found, "elephant", "telephone")["query_aligned"] == "-elephant"
