# packages: python3-aiohttp
import asyncio
import tempfile

from aiohttp import ClientSession, UnixConnector, _http_parser, _http_writer, _websocket, web  # noqa: F401

folder = tempfile.mkdtemp(dir=".")


async def answer(request):
    return web.json_response({"path": request.path, "sum": sum(await request.json())})


async def talk():
    application = web.Application()
    application.router.add_post("/{name}", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.UnixSite(runner, f"{folder}/socket").start()
    async with ClientSession(connector=UnixConnector(path=f"{folder}/socket")) as session:
        async with session.post("http://host/there", json=[1, 2, 3]) as response:
            assert await response.json() == {"path": "/there", "sum": 6}
    await runner.cleanup()


asyncio.run(talk())
