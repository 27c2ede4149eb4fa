# packages: python3-libvirt
import libvirt

libvirt.registerErrorHandler(lambda context, error: None, None)
connection = libvirt.open("test:///default")
assert connection.getType() == "TEST" and [domain.name() for domain in connection.listAllDomains()] == ["test"]
domain = connection.lookupByName("test")
domain.suspend()
assert domain.state()[0] == libvirt.VIR_DOMAIN_PAUSED
domain.resume()
try:
    connection.lookupByName("other")
    raise AssertionError("no exception")
except libvirt.libvirtError as error:
    assert error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN
connection.close()
