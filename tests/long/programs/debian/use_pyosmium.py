# packages: python3-pyosmium
import tempfile

import osmium

folder = tempfile.mkdtemp(dir=".")
with open(folder + "/map.osm", "w") as file:
    file.write('<osm version="0.6">'
               '<node id="1" version="1" lat="1.5" lon="2.5"><tag k="name" v="gorgon"/></node>'
               '<node id="2" version="1" lat="1" lon="2"/>'
               '<way id="3" version="1"><nd ref="1"/><nd ref="2"/></way></osm>')


class Handler(osmium.SimpleHandler):
    found = []

    def node(self, node):
        self.found.append((node.id, node.location.lat, dict(node.tags)))

    def way(self, way):
        self.found.append([ref.ref for ref in way.nodes])
        self.length = osmium.geom.haversine_distance(way.nodes)


handler = Handler()
handler.apply_file(folder + "/map.osm", locations=True)
assert handler.found == [(1, 1.5, {"name": "gorgon"}), (2, 1.0, {}), [1, 2]] and 78000 < handler.length < 79000
try:
    Handler().apply_file("missing.osm")
except RuntimeError as error:
    assert "missing.osm" in str(error), error
else:
    raise AssertionError("read a missing file")
