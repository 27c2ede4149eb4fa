# packages: python3-pcapy
import struct
import tempfile

import pcapy

folder = tempfile.mkdtemp(dir=".")
with open(folder + "/file.pcap", "wb") as file:
    file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    for payload in (b"first", b"second!"):
        file.write(struct.pack("<IIII", 1, 2, len(payload), len(payload)) + payload)
reader = pcapy.open_offline(folder + "/file.pcap")
header, packet = reader.next()
assert packet == b"first" and header.getlen() == 5 and header.getts() == (1, 2)
assert reader.next()[1] == b"second!" and reader.datalink() == pcapy.DLT_EN10MB
program = pcapy.compile(pcapy.DLT_EN10MB, 65535, "len > 6", 1, 0xFFFFFF00)
assert program.filter(b"second!" + bytes(20)) > 0 and program.filter(b"first") == 0
try:
    pcapy.open_offline("missing.pcap")
except pcapy.PcapError as error:
    assert "missing.pcap" in str(error), error
else:
    raise AssertionError("opened a missing file")
