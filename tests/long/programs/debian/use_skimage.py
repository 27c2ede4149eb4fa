# packages: python3-skimage
import numpy
import skimage.draw
import skimage.feature
import skimage.filters
import skimage.measure
import skimage.morphology
import skimage.segmentation
import skimage.transform

image = numpy.zeros((80, 80))
image[skimage.draw.disk((40, 40), 20)] = 1
labels = skimage.measure.label(image > 0.5)
assert labels.max() == 1 and abs(skimage.measure.regionprops(labels)[0].area - 1257) < 20
assert skimage.measure.euler_number(labels) == 1 and skimage.filters.gaussian(image, 2)[40, 40] > 0.99
assert skimage.transform.rotate(image, 45).shape == (80, 80) and len(skimage.measure.find_contours(image, 0.5)) == 1
assert skimage.morphology.skeletonize(image > 0).sum() < 100 and skimage.feature.peak_local_max(image).shape[1] == 2
assert len(numpy.unique(skimage.segmentation.slic(numpy.dstack([image] * 3), 10))) > 1
