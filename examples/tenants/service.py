# SPDX-License-Identifier: MIT
"""A web service with a model for each tenant, in one process.

    pip install uvicorn numpy gorgon-interpreters
    python3 service.py 8000 &
    curl --data '[1, 2, 3]' http://127.0.0.1:8000/alpha

Each folder beside this file has a model.py. A tenant's interpreter imports its own one under that name, with its own
numpy, globals and GIL: models compute at the same time, and know nothing of each other. What one of them asks for is a
function call in this process, not a message to another one. A model that does not answer in time is interrupted, and
its tenant gets a fresh interpreter; the others notice nothing.

What an interpreter cannot give is protection from a model that means harm or crashes: see SECURITY.md."""

import asyncio
import json
import os
import socket
import sys

import numpy
import uvicorn

from gorgon import InterpreterPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = float(os.environ.get("TENANT_SECONDS", "2"))  # that a model may take


def load(folder):
    """Once in a tenant's interpreter."""
    sys.path.insert(0, folder)
    import model  # noqa: F401


def ask(points):
    """In a tenant's interpreter: `points` are the memory of the service's array, not a copy."""
    import os

    import gorgon
    import model
    return {**model.predict(points), "interpreter": gorgon.interpreter, "process": os.getpid()}


class Tenant:
    def __init__(self, folder):
        self.folder = folder
        self.begin()

    def begin(self):
        self.pool = InterpreterPoolExecutor(1, initializer=load, initargs=(self.folder,))
        self.begun = self.pool.submit(os.getpid)  # the time limit is not for the start

    async def ask(self, points):
        pool = self.pool
        await asyncio.shield(asyncio.wrap_future(self.begun))
        answer = asyncio.wrap_future(pool.submit(ask, points))
        try:
            return await asyncio.wait_for(answer, SECONDS)
        except TimeoutError:
            if pool is self.pool:  # otherwise another request has seen to it
                self.begin()
                pool.shutdown(wait=False, cancel_futures=True, interrupt=True)
            raise


class Service:
    """The application, as ASGI describes it."""

    def __init__(self):
        self.tenants = {entry.name: Tenant(entry.path) for entry in os.scandir(HERE)
                        if os.path.exists(f"{entry.path}/model.py")}

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return
        status, answer = await self.answer(scope["path"].strip("/"), receive)
        await send({"type": "http.response.start", "status": status,
                    "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": json.dumps(answer).encode() + b"\n"})

    async def answer(self, name, receive):
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        if name not in self.tenants:
            return 404, {"error": f"no tenant {name!r}; there are {sorted(self.tenants)}"}
        try:
            return 200, await self.tenants[name].ask(numpy.array(json.loads(body), dtype=float))
        except TimeoutError:
            return 504, {"error": f"{name}'s model has not answered within {SECONDS} s and begins anew"}
        except Exception as error:  # of the tenant's code, or of what the client has sent
            return 500, {"error": f"{type(error).__name__}: {error}"}

    def close(self):
        for tenant in self.tenants.values():
            tenant.pool.shutdown(cancel_futures=True, interrupt=True)


def main(port):
    service = Service()
    with socket.create_server(("127.0.0.1", port)) as server:
        print(f"http://127.0.0.1:{server.getsockname()[1]}/ for {', '.join(sorted(service.tenants))}", flush=True)
        uvicorn.Server(uvicorn.Config(service, lifespan="off", log_level="warning")).run(sockets=[server])
    service.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 8000)
