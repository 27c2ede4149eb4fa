# packages: uvloop
import asyncio
import uvloop


async def main():
    async def echo(reader, writer):
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"snakes\n")
    assert await reader.readline() == b"SNAKES\n"
    writer.close()
    server.close()
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b"child\n" and process.returncode == 0
    assert isinstance(asyncio.get_running_loop(), uvloop.Loop)


uvloop.run(main())
