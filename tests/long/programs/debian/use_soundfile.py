# packages: python3-soundfile python3-numpy
import io
import tempfile

import numpy
import soundfile

folder = tempfile.mkdtemp(dir=".")
tone = numpy.sin(numpy.arange(8000) / 10)
for kind in ("wav", "flac", "ogg"):
    soundfile.write(f"{folder}/tone.{kind}", tone, 8000)
    again, rate = soundfile.read(f"{folder}/tone.{kind}")
    assert rate == 8000 and len(again) == 8000 and abs(again - tone)[100:-100].max() < 0.1, kind
with open(folder + "/tone.wav", "rb") as file:
    assert soundfile.info(io.BytesIO(file.read())).frames == 8000
try:
    soundfile.read(io.BytesIO(b"nonsense"))
except RuntimeError as error:
    assert "recogni" in str(error), error
else:
    raise AssertionError("read nonsense")
