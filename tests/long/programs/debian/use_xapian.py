# packages: python3-xapian
import tempfile

import xapian

folder = tempfile.mkdtemp(dir=".")
store = xapian.WritableDatabase(folder + "/store", xapian.DB_CREATE_OR_OPEN)
terms = xapian.TermGenerator()
terms.set_stemmer(xapian.Stem("en"))
for text in ("the gorgon turns men to stone", "perseus has a mirror"):
    document = xapian.Document()
    terms.set_document(document)
    terms.index_text(text)
    document.set_data(text)
    store.add_document(document)
store.commit()
query = xapian.QueryParser()
query.set_stemmer(xapian.Stem("en"))
query.set_stemming_strategy(xapian.QueryParser.STEM_SOME)
enquire = xapian.Enquire(store)
enquire.set_query(query.parse_query("stones OR turning"))


class Decider(xapian.MatchDecider):
    def __call__(self, document):
        return b"gorgon" in document.get_data()


found = [match.document.get_data() for match in enquire.get_mset(0, 10, None, Decider())]
assert found == [b"the gorgon turns men to stone"], found
try:
    xapian.Database("missing")
except xapian.DatabaseOpeningError as error:
    assert "missing" in str(error), error
else:
    raise AssertionError("opened a missing database")
