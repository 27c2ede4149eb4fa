# packages: python3-opencv
import cv2
import numpy

image = numpy.zeros((100, 100, 3), numpy.uint8)
cv2.circle(image, (50, 50), 20, (0, 0, 255), -1)
contours = cv2.findContours(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)[0]
assert len(contours) == 1 and abs(cv2.contourArea(contours[0]) - 1256) < 60, cv2.contourArea(contours[0])
assert cv2.GaussianBlur(image, (9, 9), 2)[50, 50].tolist() == [0, 0, 255]
ok, png = cv2.imencode(".png", image)
assert ok and (cv2.imdecode(png, cv2.IMREAD_COLOR) == image).all()
cv2.setNumThreads(2)
assert cv2.resize(image, (3000, 3000)).shape == (3000, 3000, 3)
try:
    cv2.resize(image, (0, 0))
except cv2.error as error:
    assert "resize" in str(error), error
else:
    raise AssertionError("resized to nothing")
keypoints, descriptors = cv2.ORB_create().detectAndCompute(cv2.cvtColor(image, cv2.COLOR_BGR2GRAY), None)
assert len(keypoints) == len(descriptors) > 0
