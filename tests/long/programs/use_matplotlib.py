# SPDX-License-Identifier: MIT
"""matplotlib (Agg): a figure with lines, text and an image, as PNG, decoded again."""

import rounds

rounds.begin()

import io  # noqa: E402

import matplotlib  # noqa: E402

matplotlib.use("Agg")
from matplotlib import image, pyplot  # noqa: E402

figure, axes = pyplot.subplots(1, 2, figsize=(4, 2), dpi=50)
axes[0].plot(range(10), [i * i for i in range(10)], color="red", label="squares")
axes[0].set_title(r"$x^2$")
axes[0].legend()
axes[1].imshow([[0, 1], [1, 0]])
file = io.BytesIO()
figure.savefig(file, format="png")
pyplot.close(figure)
file.seek(0)
pixels = image.imread(file)
assert pixels.shape == (100, 200, 4), pixels.shape
assert (pixels[0, 0] == 1).all()  # white outside of the axes
red = (pixels[..., 0] > 0.9) & (pixels[..., 1] < 0.1) & (pixels[..., 2] < 0.1)
assert red.sum() > 20, red.sum()
rounds.done()
