# packages: python3-systemd
import os
import tempfile

from systemd import daemon, id128, journal

folder = tempfile.mkdtemp(dir=".")
assert daemon.listen_fds() == []
reader, writer = os.pipe()
assert daemon.is_fifo(reader) and not daemon.is_socket(reader)
assert id128.randomize().version == 4 and id128.SD_MESSAGE_JOURNAL_START.hex == "f77379a8490b408bbe5f6940505a777b"
os.mkdir(folder + "/journal")
with journal.Reader(path=folder + "/journal") as entries:
    entries.add_match(PRIORITY="3")
    assert list(entries) == []
    try:
        entries.add_match("nonsense")
    except ValueError as error:
        assert "Invalid match" in str(error), error
    else:
        raise AssertionError("matched nonsense")
