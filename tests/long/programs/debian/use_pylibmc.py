# packages: python3-pylibmc
import pylibmc

client = pylibmc.Client(["127.0.0.1:1"], binary=True, behaviors={"ketama": True, "connect_timeout": 200})
assert client.behaviors["ketama"]
try:
    client.set("key", "value")
except pylibmc.Error as error:
    assert "127.0.0.1" in str(error), error
else:
    raise AssertionError("stored in nothing")
