# packages: python3-pyqt5
from PyQt5.QtCore import QObject, QThread, QTimer, pyqtSignal
from PyQt5.QtGui import QColor, QImage, QPainter
from PyQt5.QtWidgets import QApplication, QLabel

app = QApplication([])
label = QLabel("text")
label.show()
assert label.sizeHint().width() > 0
image = QImage(32, 32, QImage.Format_RGB32)
painter = QPainter(image)
painter.fillRect(0, 0, 32, 32, QColor("red"))
painter.end()
assert QColor(image.pixel(5, 5)).getRgb() == (255, 0, 0, 255)


class Worker(QObject):
    done = pyqtSignal(int)

    def work(self):
        self.done.emit(sum(range(100)))
        QThread.currentThread().quit()


results = []
thread, worker = QThread(), Worker()
worker.moveToThread(thread)
thread.started.connect(worker.work)
worker.done.connect(results.append)
thread.finished.connect(app.quit)
QTimer.singleShot(0, thread.start)
app.exec_()
thread.wait()
app.processEvents()
assert results == [4950], results
