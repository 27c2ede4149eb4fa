# packages: python3-talloc python3-samba
import talloc
from samba.dcerpc import misc, security

guid = misc.GUID("f77379a8-490b-408b-be5f-6940505a777b")
assert isinstance(guid, talloc.BaseObject) and talloc.total_blocks(security.descriptor()) >= 1
