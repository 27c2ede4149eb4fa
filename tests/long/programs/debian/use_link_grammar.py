# packages: python3-link-grammar link-grammar-dictionaries-en
from linkgrammar import Dictionary, ParseOptions, Sentence

linkages = list(Sentence("This is a test.", Dictionary("en"), ParseOptions(verbosity=0)).parse())
assert linkages and linkages[0].num_of_links() > 4
assert "test" in linkages[0].diagram()
