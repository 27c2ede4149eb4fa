# packages: python3-samba
from samba import crypto, param
from samba.credentials import Credentials
from samba.dcerpc import security
from samba.ndr import ndr_pack, ndr_unpack

sid = security.dom_sid("S-1-5-21-1-2-3-500")
assert ndr_unpack(security.dom_sid, ndr_pack(sid)) == sid and sid.split()[1] == 500
lp = param.LoadParm()
lp.set("workgroup", "GORGON")
assert lp.get("workgroup") == "GORGON"
credentials = Credentials()
credentials.guess(lp)
credentials.set_password("password")
assert credentials.get_nt_hash().hex() == "8846f7eaee8fb117ad06bdd830b7586c"
assert crypto.md4_hash_blob(b"").hex() == "31d6cfe0d16ae931b73c59d7e0c089c0"
try:
    security.dom_sid("nonsense")
except TypeError:
    pass
else:
    raise AssertionError("an identity out of nonsense")
