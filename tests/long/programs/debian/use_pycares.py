# packages: python3-pycares
import pycares

channel = pycares.Channel(servers=["127.0.0.1"], tries=1, timeout=0.2)
assert channel.servers == ["127.0.0.1"]
answers = []
channel.query("example.invalid", pycares.QUERY_TYPE_A, lambda result, error: answers.append((result, error)))
channel.cancel()
assert answers == [(None, pycares.errno.ARES_ECANCELLED)], answers
assert "cancelled" in pycares.errno.strerror(pycares.errno.ARES_ECANCELLED)
