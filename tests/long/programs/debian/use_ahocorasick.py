# packages: python3-ahocorasick
import pickle

import ahocorasick

automaton = ahocorasick.Automaton()
for number, word in enumerate(["he", "she", "his", "hers"]):
    automaton.add_word(word, (number, word))
automaton.make_automaton()
assert [(end, word) for end, (number, word) in automaton.iter("ushers")] == [(3, "she"), (3, "he"), (5, "hers")]
assert sorted(pickle.loads(pickle.dumps(automaton)).keys()) == ["he", "hers", "his", "she"]
