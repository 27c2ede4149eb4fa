# packages: python3-av
import tempfile

import av
import numpy

folder = tempfile.mkdtemp(dir=".")
with av.open(f"{folder}/film.mkv", "w") as film:
    stream = film.add_stream("mpeg4", rate=24)
    stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
    for shade in range(10):
        frame = av.VideoFrame.from_ndarray(numpy.full((48, 64, 3), 20 * shade, numpy.uint8))
        for packet in stream.encode(frame):
            film.mux(packet)
    for packet in stream.encode():
        film.mux(packet)
with av.open(f"{folder}/film.mkv") as film:
    means = [frame.to_ndarray(format="rgb24").mean() for frame in film.decode(video=0)]
assert len(means) == 10 and all(abs(mean - 20 * shade) < 6 for shade, mean in enumerate(means)), means
try:
    av.open("not there")
    raise AssertionError("no exception")
except FileNotFoundError:
    pass
