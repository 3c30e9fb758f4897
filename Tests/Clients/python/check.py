"""The Python client against a server that refuses sessions and drops connections at chosen moments."""

import asyncio
import json

import websockets
from reveille import Client, Closed

OPENED = {
    "resumed": False, "session_id": "s", "resume": {"token": "t"}, "user": "alice", "calls": [], "missed": []}
REFUSED = {"code": -32000, "message": "busy", "data": {"code": "overloaded", "retry_after_ms": 100}}
EVENT = {"method": "call.state", "params": {"seq": 1, "call_id": "c", "state": "ringing"}}


class Server:
    """Opens each session and answers each request with the number of its connection, but for what `plan` does first.

    `plan` gets the number of the connection, the connection and the message; it returns whether it has handled it.
    """

    def __init__(self, plan):
        self.plan, self.connections = plan, 0

    async def serve(self, socket):
        self.connections += 1
        number = self.connections
        try:
            async for text in socket:
                message = json.loads(text)
                if "id" in message and not await self.plan(number, socket, message):
                    result = OPENED if message["method"] == "session.open" else {"connection": number}
                    await send(socket, {"id": message["id"], "result": result})
        except websockets.ConnectionClosed:
            pass


async def send(socket, message):
    await socket.send(json.dumps({"jsonrpc": "2.0", **message}))


async def ended(client):
    """Sends a request, whose connection must end before the reply."""
    try:
        reply = await asyncio.wait_for(client.request("call.ringing"), 10)
    except Closed:
        return
    raise AssertionError(f"a reply: {reply}")


async def against(plan, check):
    server = Server(plan)
    async with websockets.serve(server.serve, "127.0.0.1", 0, subprotocols=["reveille.v1"]) as listener:
        port = listener.sockets[0].getsockname()[1]
        async with Client(f"ws://127.0.0.1:{port}", "token") as client:
            await check(client)
            # It connects again by itself.
            for _ in range(200):
                try:
                    return await asyncio.wait_for(client.request("call.ringing"), 10)
                except Closed:
                    await asyncio.sleep(0.05)
            raise AssertionError("the client does not connect again")


async def refused_session():
    """A request while a session is opened that is then refused ends with Closed, and not never."""
    is_opening, may_refuse = asyncio.Event(), asyncio.Event()

    async def plan(number, socket, message):
        if number == 1 and message["method"] == "call.hangup":
            await socket.close(1011)
            return True
        if number == 2 and message["method"] == "session.open":
            is_opening.set()
            await may_refuse.wait()
            await send(socket, {"id": message["id"], "error": REFUSED})
            return True
        return False

    async def check(client):
        try:
            await client.request("call.hangup")
        except Closed:
            pass
        await is_opening.wait()
        request = asyncio.create_task(ended(client))
        await asyncio.sleep(0)
        may_refuse.set()
        await request

    assert await against(plan, check) == {"connection": 3}


async def lost_acknowledgement():
    """A connection that ends between an event and its acknowledgement is replaced."""

    async def plan(number, socket, message):
        if number == 1 and message["method"] == "call.ringing":
            await send(socket, EVENT)
            socket.transport.abort()
            return True
        return False

    async def check(client):
        acknowledge = client.notify

        async def late(*arguments, **params):
            while client._socket.open:
                await asyncio.sleep(0)
            await acknowledge(*arguments, **params)

        client.notify = late
        await ended(client)

    assert await against(plan, check) == {"connection": 2}


async def main():
    for check in refused_session, lost_acknowledgement:
        await asyncio.wait_for(check(), 60)
        print(f"{check.__name__} ok")


asyncio.run(main())
