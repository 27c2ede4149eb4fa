# packages: python3-persistent
import persistent
import persistent.cPersistence

assert persistent.Persistent is persistent.cPersistence.Persistent


class Jar:
    def __init__(self):
        self.loaded, self.changed = [], []

    def setstate(self, thing):
        self.loaded.append(thing._p_oid)
        thing.__setstate__({"value": 7})

    def register(self, thing):
        self.changed.append(thing._p_oid)


class Thing(persistent.Persistent):
    pass


jar = Jar()
cache = persistent.PickleCache(jar, 10)
jar._cache = cache
thing = Thing.__new__(Thing)
cache.new_ghost(b"12345678", thing)
assert thing._p_changed is None and thing.value == 7 and jar.loaded == [b"12345678"]
thing.value = 8
assert thing._p_changed and jar.changed == [b"12345678"] and cache[b"12345678"] is thing
