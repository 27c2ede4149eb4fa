# packages: python3-poppler-qt5 python3-pyqt5 python3-reportlab
import tempfile

from popplerqt5 import Poppler
from PyQt5.QtCore import QSizeF
from reportlab.pdfgen import canvas

path = tempfile.mkdtemp(dir=".") + "/file.pdf"
pdf = canvas.Canvas(path, pagesize=(200, 100))
pdf.drawString(20, 50, "Gorgon")
pdf.save()
document = Poppler.Document.load(path)
page = document.page(0)
assert document.numPages() == 1 and page.pageSizeF() == QSizeF(200, 100)
assert [box.text() for box in page.textList()] == ["Gorgon"]
image = page.renderToImage(72, 72)
assert (image.width(), image.height()) == (200, 100)
assert Poppler.Document.load("missing.pdf") is None
