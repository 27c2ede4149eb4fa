# packages: python3-asyncpg
import asyncio
import uuid

import asyncpg
from asyncpg import protocol
from asyncpg.pgproto import pgproto
from asyncpg.pgproto.types import BitString

assert BitString("1010").to_int() == 10
number = pgproto.UUID("12345678123456781234567812345678")
assert number == uuid.UUID(int=number.int) and str(number) == "12345678-1234-5678-1234-567812345678"
assert protocol.Protocol.__module__ == "asyncpg.protocol.protocol"


async def refused():
    try:
        await asyncpg.connect(host="/nowhere", user="me", timeout=5)
    except OSError:
        return True


assert asyncio.run(refused())
