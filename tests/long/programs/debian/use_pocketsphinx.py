# packages: python3-pocketsphinx
import tempfile

import pocketsphinx

assert abs(pocketsphinx.LogMath().exp(0) - 1) < 1e-9
folder = tempfile.mkdtemp(dir=".")
with open(folder + "/heads.gram", "w") as file:
    file.write("#JSGF V1.0;\ngrammar heads;\npublic <head> = medusa | stheno | euryale;\n")
grammar = pocketsphinx.Jsgf(folder + "/heads.gram")
graph = grammar.build_fsg(grammar.get_rule("heads.head"), pocketsphinx.LogMath(), 7.5)
graph.writefile(folder + "/heads.fsg")
with open(folder + "/heads.fsg") as file:
    assert "medusa" in file.read() and graph.word_id("stheno") >= 0 > graph.word_id("perseus")
