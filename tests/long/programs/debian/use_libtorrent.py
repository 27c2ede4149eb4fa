# packages: python3-libtorrent
import libtorrent

encoded = libtorrent.bencode({b"a": [1, b"x"], b"b": {}})
assert encoded == b"d1:ali1e1:xe1:bdee" and libtorrent.bdecode(encoded)[b"a"] == [1, b"x"]
files = libtorrent.file_storage()
files.add_file("file", 100000)
torrent = libtorrent.create_torrent(files, 16384)
for i in range(torrent.num_pieces()):
    torrent.set_hash(i, bytes(range(20)))
session = libtorrent.session({"listen_interfaces": "127.0.0.1:0", "enable_dht": False, "enable_lsd": False,
                              "enable_upnp": False, "enable_natpmp": False})
assert session.get_settings()["enable_dht"] is False and session.get_torrents() == []
session.post_session_stats()
assert session.wait_for_alert(20000)
session.pause()
del session
try:
    libtorrent.parse_magnet_uri("nonsense")
except RuntimeError as error:
    assert "unsupported URL" in str(error), error
else:
    raise AssertionError("parsed nonsense")
