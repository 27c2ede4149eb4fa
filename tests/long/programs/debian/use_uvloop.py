# packages: python3-uvloop
import asyncio
import tempfile

import uvloop

folder = tempfile.mkdtemp(dir=".")


async def serve(reader, writer):
    writer.write((await reader.readline()).upper())
    writer.close()


async def main():
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)
    server = await asyncio.start_unix_server(serve, folder + "/socket")
    reader, writer = await asyncio.open_unix_connection(folder + "/socket")
    writer.write(b"gorgon\n")
    assert await reader.readline() == b"GORGON\n"
    writer.close()
    server.close()
    assert await asyncio.get_running_loop().run_in_executor(None, sum, [1, 2]) == 3
    await asyncio.sleep(0.01)
    return "done"


uvloop.install()
assert asyncio.run(main()) == "done"
