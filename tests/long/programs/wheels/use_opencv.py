# packages: opencv-python-headless
import cv2
import numpy

image = numpy.zeros((80, 80, 3), numpy.uint8)
cv2.circle(image, (40, 40), 20, (0, 0, 255), -1)
coded = cv2.imencode(".png", image)[1]
assert numpy.array_equal(cv2.imdecode(coded, cv2.IMREAD_COLOR), image)
contours, _ = cv2.findContours(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
assert len(contours) == 1 and abs(cv2.contourArea(contours[0]) - 1256) < 60
try:
    cv2.resize(image, (0, 0))
except cv2.error:
    pass
else:
    raise AssertionError("an empty size was accepted")
