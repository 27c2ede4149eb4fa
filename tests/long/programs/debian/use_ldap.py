# packages: python3-ldap
import ldap
import ldap.dn
import ldap.filter

assert ldap.dn.str2dn("cn=A\\,B,dc=x") == [[("cn", "A,B", 1)], [("dc", "x", 1)]]
assert ldap.filter.escape_filter_chars("a*b") == "a\\2ab"
connection = ldap.initialize("ldapi://%2Fnot%2Fthere")
connection.set_option(ldap.OPT_NETWORK_TIMEOUT, 5)
try:
    connection.simple_bind_s("cn=x", "y")
    raise AssertionError("no exception")
except ldap.SERVER_DOWN:
    pass
