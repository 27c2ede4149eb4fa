# packages: python3-hfst
import hfst

rules = hfst.regex("c a t:d s")
rules.disjunct(hfst.regex("d o g"))
rules.minimize()
assert rules.lookup("cats") == (("cads", 0.0),) and rules.lookup("dog") == (("dog", 0.0),)
