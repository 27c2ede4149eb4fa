# packages: python3-matplotlib
import tempfile

import matplotlib.pyplot as plt
import numpy

folder = tempfile.mkdtemp(dir=".")
figure, axes = plt.subplots(figsize=(4, 3), dpi=50)
axes.fill_between([0, 1], [0, 0], [1, 1], color="#ff0000")
axes.contour(numpy.arange(16.0).reshape(4, 4))
axes.set_title(r"$\sqrt{x}$ and text")
figure.canvas.draw()
pixels = numpy.asarray(figure.canvas.buffer_rgba())
assert pixels.shape == (150, 200, 4), pixels.shape
assert ((pixels[:, :, 0] == 255) & (pixels[:, :, 1] == 0)).sum() > 1000
figure.savefig(folder + "/figure.png")
assert plt.imread(folder + "/figure.png").shape == (150, 200, 4)
for kind in ("pdf", "svg", "ps"):
    figure.savefig(f"{folder}/figure.{kind}")
