# packages: python3-zxing-cpp
import numpy
import zxingcpp

image = zxingcpp.write_barcode(zxingcpp.BarcodeFormat.QRCode, "gorgon", 100, 100)
found = zxingcpp.read_barcodes(numpy.asarray(image))
assert [one.text for one in found] == ["gorgon"], found
assert zxingcpp.read_barcodes(numpy.full((50, 50), 255, numpy.uint8)) == []
