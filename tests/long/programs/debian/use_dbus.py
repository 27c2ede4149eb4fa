# packages: python3-dbus dbus-daemon python3-gi gir1.2-glib-2.0
# remark: with a bus of its own
import subprocess
import threading

import dbus
import dbus.lowlevel
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

daemon = subprocess.Popen(["dbus-daemon", "--session", "--nofork", "--print-address"],
                          stdout=subprocess.PIPE, text=True)
try:
    address = daemon.stdout.readline().strip()
    dbus.mainloop.glib.threads_init()

    class Answers(dbus.service.Object):
        @dbus.service.method("test.Twice", in_signature="i", out_signature="i")
        def twice(self, number):
            if number < 0:
                raise ValueError("negative")
            return 2 * number

    server = dbus.bus.BusConnection(address, mainloop=dbus.mainloop.glib.DBusGMainLoop())
    Answers(server, "/there")
    loop = GLib.MainLoop()
    thread = threading.Thread(target=loop.run)
    thread.start()
    client = dbus.bus.BusConnection(address)
    there = dbus.Interface(client.get_object(server.get_unique_name(), "/there"), "test.Twice")
    assert there.twice(21) == 42
    try:
        there.twice(-1)
        raise AssertionError("no exception")
    except dbus.DBusException as error:
        assert "negative" in str(error)
    loop.quit()
    thread.join()
    client.close()
    server.close()
finally:
    daemon.kill()
    daemon.wait()
