# packages: python3-pyside2.qtcore python3-pyside2.qtgui python3-pyside2.qtwidgets
from PySide2.QtCore import QObject, QTimer, Signal
from PySide2.QtGui import QColor, QImage
from PySide2.QtWidgets import QApplication, QLabel

app = QApplication([])
label = QLabel("text")
label.show()
assert label.sizeHint().width() > 0


class Sender(QObject):
    sent = Signal(int)


got = []
sender = Sender()
sender.sent.connect(got.append)
QTimer.singleShot(10, lambda: sender.sent.emit(7))
QTimer.singleShot(30, app.quit)
app.exec_()
assert got == [7]
image = QImage(4, 4, QImage.Format_RGB32)
image.fill(QColor("lime"))
assert image.pixelColor(1, 1).name() == "#00ff00"
