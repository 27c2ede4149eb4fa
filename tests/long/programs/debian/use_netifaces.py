# packages: python3-netifaces
import netifaces

assert "lo" in netifaces.interfaces()
assert netifaces.ifaddresses("lo").keys() <= netifaces.address_families.keys()
try:
    netifaces.ifaddresses("none such")
except ValueError as error:
    assert "interface name" in str(error), error
else:
    raise AssertionError("addresses of nothing")
