# packages: python3-evdev
from evdev import InputEvent, ecodes, list_devices, util

assert ecodes.KEY_A == 30 and ecodes.KEY[30] == "KEY_A"
event = util.categorize(InputEvent(1, 2, ecodes.EV_KEY, ecodes.KEY_A, 1))
assert event.keycode == "KEY_A" and event.keystate == event.key_down
assert isinstance(list_devices(), list)
