# packages: python3-taglib
import struct
import tempfile

import taglib

folder = tempfile.mkdtemp(dir=".")
with open(folder + "/sound.wav", "wb") as file:
    file.write(b"RIFF" + struct.pack("<I", 44 + 8000 - 8))
    file.write(b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8))
    file.write(b"data" + struct.pack("<I", 8000) + bytes(8000))
sound = taglib.File(folder + "/sound.wav")
assert sound.length == 1 and sound.sampleRate == 8000
sound.tags["TITLE"] = ["Gorgon"]
sound.save()
sound.close()
assert taglib.File(folder + "/sound.wav").tags["TITLE"] == ["Gorgon"]
try:
    taglib.File("missing.wav")
except OSError:
    pass
else:
    raise AssertionError("opened a missing file")
