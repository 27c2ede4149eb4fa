# packages: matplotlib
import io
import matplotlib.pyplot as plt
import numpy
from PIL import Image

figure, axes = plt.subplots(figsize=(2, 2), dpi=50)
axes.contourf(numpy.add.outer(numpy.arange(8.0), numpy.arange(8.0)))
axes.set_title(r"$\sqrt{x}$")
file = io.BytesIO()
figure.savefig(file)
plt.close(figure)
image = Image.open(file)
assert image.size == (100, 100) and len(image.getcolors(10000)) > 20
