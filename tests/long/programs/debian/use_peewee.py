# packages: python3-peewee
import tempfile

import playhouse.sqlite_ext as ext

folder = tempfile.mkdtemp(dir=".")
db = ext.CSqliteExtDatabase(folder + "/peewee.db", rank_functions=True, hash_functions=True)


class Note(ext.Model):
    text = ext.TextField()

    class Meta:
        database = db


commits = []
db.on_commit(lambda: commits.append(1))
db.create_tables([Note])
Note.insert_many([{"text": "gorgon"}, {"text": "medusa"}]).execute()
assert [note.text for note in Note.select().order_by(Note.text.desc())] == ["medusa", "gorgon"] and commits
hashes = db.execute_sql("select murmurhash('a') = murmurhash('a'), murmurhash('a') = murmurhash('b')").fetchone()
assert hashes == (1, 0)
db.close()
