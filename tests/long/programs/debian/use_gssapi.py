# packages: python3-gssapi
import gssapi

name = gssapi.Name("host@somewhere", gssapi.NameType.hostbased_service)
assert str(name) == "host@somewhere"
assert gssapi.MechType.kerberos.dotted_form == "1.2.840.113554.1.2.2"
try:
    gssapi.Credentials(usage="accept", store={"keytab": "FILE:not there"}, name=name).lifetime
    raise AssertionError("no exception")
except gssapi.exceptions.GSSError as error:
    assert "not there" in str(error) or "FILE" in str(error), error
