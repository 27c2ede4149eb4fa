# packages: python3-libzim
import tempfile

from libzim.reader import Archive
from libzim.writer import Creator, Hint, Item, StringProvider

folder = tempfile.mkdtemp(dir=".")


class Page(Item):
    def get_path(self):
        return "page"

    def get_title(self):
        return "A page"

    def get_mimetype(self):
        return "text/html"

    def get_contentprovider(self):
        return StringProvider("<p>words</p>")

    def get_hints(self):
        return {Hint.FRONT_ARTICLE: True}


with Creator(f"{folder}/file.zim").config_indexing(True, "eng") as creator:
    creator.add_item(Page())
archive = Archive(f"{folder}/file.zim")
assert bytes(archive.get_entry_by_path("page").get_item().content) == b"<p>words</p>"
try:
    archive.get_entry_by_path("nothing")
    raise AssertionError("no exception")
except KeyError:
    pass
