# packages: aiohttp
import asyncio
from aiohttp import ClientSession, web


async def main():
    async def answer(request):
        return web.json_response({"sum": sum(await request.json())})

    app = web.Application()
    app.router.add_post("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    async with ClientSession() as session:
        async with session.post(f"http://127.0.0.1:{site._server.sockets[0].getsockname()[1]}/", json=[1, 2, 3]) as reply:
            assert await reply.json() == {"sum": 6}
    await runner.cleanup()


asyncio.run(main())
