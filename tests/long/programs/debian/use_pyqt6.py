# packages: python3-pyqt6
from PyQt6.QtCore import QObject, QTimer, pyqtSignal
from PyQt6.QtGui import QColor, QImage
from PyQt6.QtWidgets import QApplication, QLabel

app = QApplication([])
label = QLabel("text")
label.show()
assert label.sizeHint().width() > 0


class Sender(QObject):
    sent = pyqtSignal(str)


got = []
sender = Sender()
sender.sent.connect(got.append)
QTimer.singleShot(10, lambda: sender.sent.emit("late"))
QTimer.singleShot(30, app.quit)
app.exec()
assert got == ["late"]
image = QImage(4, 4, QImage.Format.Format_RGB32)
image.fill(QColor("blue"))
assert image.pixelColor(1, 1).name() == "#0000ff"
