# packages: scikit-image
import numpy
from skimage import filters, measure, segmentation

image = numpy.zeros((60, 60))
image[10:20, 10:20] = image[35:50, 30:55] = 1.0
assert measure.label(filters.gaussian(image, 1) > 0.5).max() == 2
assert abs(filters.threshold_otsu(image) - 0.5) < 0.5
assert segmentation.slic(numpy.dstack([image] * 3), n_segments=4, start_label=1).min() == 1
