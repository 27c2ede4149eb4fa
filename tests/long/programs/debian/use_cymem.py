# packages: python3-cymem
from cymem.cymem import Address, Pool

pool = Pool()
assert Address(8, 16).addr and (pool.size, pool.addresses) == (0, {})
