"""A client of the signaling protocol, written from the protocol's text alone."""

import asyncio
import json
import re
import uuid

import websockets

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


class Refused(Exception):
    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.error = error


class Client:
    """One WebSocket: matches replies by id, and checks that events arrive in order, each exactly once."""

    sockets = []

    def __init__(self, socket, welcome):
        self.socket = socket
        self.welcome = welcome
        self.device = str(uuid.uuid4())
        self.answers = {}
        self.orphans = asyncio.Queue()
        self.events = asyncio.Queue()
        self.seq = 0
        self.requests = 0
        self.reader = asyncio.ensure_future(self.read())

    @classmethod
    async def connect(cls, url):
        socket = await websockets.connect(
            url + "/v1/signal", subprotocols=["reveille.v1"], max_size=None, compression=None, open_timeout=30)
        cls.sockets.append(socket)
        assert socket.subprotocol == "reveille.v1"
        first = json.loads(await asyncio.wait_for(socket.recv(), 30))
        assert first["jsonrpc"] == "2.0" and first["method"] == "welcome" and "id" not in first
        return cls(socket, first["params"])

    async def read(self):
        try:
            async for text in self.socket:
                assert isinstance(text, str)
                message = json.loads(text)
                assert message["jsonrpc"] == "2.0"
                if "method" in message:
                    assert set(message) == {"jsonrpc", "method", "params"}, message
                    self.seq += 1
                    assert message["params"]["seq"] == self.seq, (self.seq, message)
                    self.events.put_nowait((message["method"], message["params"], text))
                elif message["id"] is None:
                    self.orphans.put_nowait(message["error"])
                else:
                    self.answers.pop(message["id"]).set_result(message)
        except websockets.ConnectionClosed:
            pass

    async def send(self, text):
        await self.socket.send(text)

    def notify(self, method, **params):
        return self.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))

    async def ask(self, method, params):
        """Sends a request with params as JSON text, and returns the result."""
        self.requests += 1
        number = self.requests
        answer = self.answers[number] = asyncio.get_running_loop().create_future()
        await self.send('{"jsonrpc":"2.0","id":%d,"method":"%s","params":%s}' % (number, method, params))
        message = await asyncio.wait_for(answer, 40)
        if "error" in message:
            assert set(message) == {"jsonrpc", "id", "error"}, message
            raise Refused(message["error"])
        assert set(message) == {"jsonrpc", "id", "result"}, message
        return message["result"]

    def request(self, method, **params):
        return self.ask(method, json.dumps(params))

    async def refused(self, method, **params):
        """Sends a request that must be refused, and returns the error."""
        try:
            result = await self.request(method, **params)
        except Refused as refused:
            return refused.error
        raise AssertionError(f"{method} was answered with {result}")

    async def orphan(self):
        """The next error without an id."""
        return await asyncio.wait_for(self.orphans.get(), 30)

    def open(self, token, **more):
        return self.request("session.open", token=token, device={"id": self.device, "platform": "desktop"}, **more)

    async def event(self, method):
        """The next event, which must have this method."""
        name, params, text = await asyncio.wait_for(self.events.get(), 30)
        assert name == method, (method, name, params)
        del params["seq"]
        return params, text

    async def state(self, wanted):
        params, text = await self.event("call.state")
        assert params["state"] == wanted, (wanted, params)
        return params, text

    async def closed(self):
        """Waits for the server to close; returns the code."""
        await asyncio.wait_for(self.reader, 30)
        await self.socket.wait_closed()
        return self.socket.close_code


def shape(value, **wanted):
    """Checks an object: exactly these members, each equal to the given value or passing the given test."""
    assert set(value) == set(wanted), (sorted(value), sorted(wanted), value)
    for name, test in wanted.items():
        fits = test(value[name]) if callable(test) else value[name] == test and type(value[name]) is type(test)
        assert fits, (name, value[name], value)


def is_uuid(value):
    return isinstance(value, str) and UUID.match(value)


def is_text(value):
    return isinstance(value, str) and value != ""


def is_time(value):
    """Whether the value is about the current time in milliseconds."""
    import time
    return type(value) is int and abs(value - time.time() * 1000) < 300_000


def at_most(limit):
    return lambda value: type(value) is int and 0 < value <= limit


def run(main):
    async def limited():
        try:
            await asyncio.wait_for(main, 80)
        finally:
            # Otherwise websockets (10.4) waits 10 s for the server to close the sockets that are still open.
            for socket in Client.sockets:
                socket.transport.abort()
    asyncio.run(limited())
