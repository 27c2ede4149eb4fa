# packages: python3-breezy
from breezy.bzr import _chk_map_pyx, _dirstate_helpers_pyx, _groupcompress_pyx

index = _groupcompress_pyx.DeltaIndex(b"the same text again and again and again\n" * 4)
delta = index.make_delta(b"the same text again and again and again\n" * 4 + b"and more\n")
assert len(delta) < 60
assert _groupcompress_pyx.apply_delta(b"the same text again and again and again\n" * 4, delta).endswith(b"and more\n")
assert _chk_map_pyx._search_key_16((b"key",)).isalnum()
assert _dirstate_helpers_pyx.bisect_dirblock([(b"a", []), (b"c", [])], b"b") == 1
