# SPDX-License-Identifier: MIT
"""For CPython's tests: what they use of concurrent.interpreters._crossinterp."""

from gorgon.interpreters import UNBOUND, UNBOUND_ERROR, UNBOUND_REMOVE

_UNBOUND_CONSTANT_TO_FLAG = {UNBOUND_REMOVE: 1, UNBOUND_ERROR: 2, UNBOUND: 3}
