# packages: python3-gst-1.0 gir1.2-gstreamer-1.0 gstreamer1.0-plugins-base
import gi

gi.require_version("Gst", "1.0")
from gi.repository import GLib, Gst  # noqa: E402

Gst.init(None)
pipeline = Gst.parse_launch("videotestsrc num-buffers=5 ! video/x-raw,width=32,height=16,format=RGB "
                            "! fakesink name=end signal-handoffs=true")
sizes = []
pipeline.get_by_name("end").connect("handoff", lambda sink, buffer, pad: sizes.append(buffer.get_size()))
pipeline.set_state(Gst.State.PLAYING)
message = pipeline.get_bus().timed_pop_filtered(30 * Gst.SECOND, Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
assert message.type == Gst.MessageType.EOS and sizes == [32 * 16 * 3] * 5, (message, sizes)
assert str(Gst.Fraction(1, 2)) == "1/2"
try:
    Gst.parse_launch("no_such_element")
    raise AssertionError("no exception")
except GLib.Error:
    pass
