# packages: python3-gi gir1.2-glib-2.0
import tempfile
import threading

from gi.repository import Gio, GLib, GObject

folder = tempfile.mkdtemp(dir=".")


class Counter(GObject.Object):
    __gsignals__ = {"counted": (GObject.SignalFlags.RUN_LAST, None, (int,))}
    count = GObject.Property(type=int, default=0)


counter, seen = Counter(), []
counter.connect("counted", lambda object, number: seen.append(number))
counter.connect("notify::count", lambda object, property: seen.append(property.name))
counter.emit("counted", 7)
counter.count = 3
assert seen == [7, "count"], seen
loop = GLib.MainLoop()
ticks = []
GLib.timeout_add(5, lambda: ticks.append(1) or len(ticks) < 3)
GLib.timeout_add(1, lambda: len(ticks) < 3 or threading.Thread(target=loop.quit).start())
loop.run()
assert len(ticks) == 3
file = Gio.File.new_for_path(f"{folder}/file")
file.replace_contents(b"text", None, False, Gio.FileCreateFlags.NONE, None)
assert file.load_contents(None).contents == b"text"
try:
    Gio.File.new_for_path("not there").read(None)
    raise AssertionError("no exception")
except GLib.Error as error:
    assert error.matches(Gio.io_error_quark(), Gio.IOErrorEnum.NOT_FOUND)
assert GLib.Variant("(sai)", ("a", [1, 2])).unpack() == ("a", [1, 2])
