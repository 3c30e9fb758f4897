"""An administrator written from the protocol's text alone. Argument: the socket's path."""

import asyncio
import json
import os
import stat
import sys

import websockets

PATH = sys.argv[1]


def connect(path="/v1/admin", subprotocol="reveille.admin.v1"):
    return websockets.unix_connect(PATH, uri="ws://localhost" + path, subprotocols=[subprotocol],
                                   max_size=None, compression=None, open_timeout=30)


class Client:
    def __init__(self, socket):
        self.socket = socket
        self.requests = 0

    async def raw(self, text):
        await self.socket.send(text)
        return json.loads(await asyncio.wait_for(self.socket.recv(), 30))

    async def ask(self, method, /, **params):
        self.requests += 1
        answer = await self.raw(json.dumps(
            {"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}))
        assert answer["jsonrpc"] == "2.0" and answer["id"] == self.requests, answer
        assert len(answer) == 3 and ("result" in answer) != ("error" in answer), answer
        return answer

    async def result(self, method, /, **params):
        return (await self.ask(method, **params))["result"]

    async def refused(self, code, word, method, /, **params):
        refused((await self.ask(method, **params))["error"], code, word)


def refused(error, code, word):
    assert error["code"] == code and error["data"]["code"] == word and error["message"], error


async def whole():
    assert stat.S_IMODE(os.stat(PATH).st_mode) == 0o600
    async with connect() as socket:
        assert socket.subprotocol == "reveille.admin.v1"
        client = Client(socket)
        assert await client.result("group.list") == {"items": []}
        group = {"name": "s\u00e4les", "strategy": "hunt", "members": ["alice", "+81312345678"]}
        await client.result("group.set", **group)
        assert await client.result("group.get", name=group["name"]) == group
        assert await client.result("group.list") == {"items": [group]}
        assert await client.result("group.list", after=group["name"]) == {"items": []}
        await client.result("user.set", user="alice", do_not_disturb=True)
        await client.result("user.set", user="alice", decline_policy="device")
        await client.result("alias.set", alias="+81312345678", user="alice")
        assert await client.result("alias.list") == {"items": [{"alias": "+81312345678", "user": "alice"}]}
        await client.result("user.block", user="alice", callers=["mallory", "eve"])
        await client.result("user.unblock", user="alice", callers=["eve"])
        await client.result("user.forward", user="alice", busy={"group": group["name"]}, no_answer="bob",
                            no_answer_seconds=20)
        user = await client.result("user.get", user="alice")
        assert set(user) == {"handle", "call_waiting", "decline_policy", "do_not_disturb", "missed_calls", "blocked",
                             "forward_busy", "forward_no_answer", "no_answer_seconds", "aliases", "groups", "devices",
                             "devices_online", "live_calls"}, user
        assert (user["blocked"], user["forward_busy"], user["forward_no_answer"], user["no_answer_seconds"]) \
            == (["mallory"], {"group": group["name"]}, "bob", 20), user
        assert (user["handle"], user["call_waiting"], user["decline_policy"], user["do_not_disturb"]) \
            == ("alice", True, "device", True), user
        assert user["aliases"] == ["+81312345678"], user
        before = user.get("revoked_before")
        await client.result("user.revoke", user="alice", before_ms=1000)
        user = await client.result("user.get", user="alice")
        assert before is None and user["revoked_before"]["ms"] == 1000, user
        await client.refused(-32602, "invalid_params", "user.revoke", user="alice", before_ms=2**62)
        await client.refused(-32602, "invalid_params", "user.revoke", user="alice", before_ms=253402300799000)
        await client.refused(-32003, "not_found", "device.delete", user="alice",
                             device_id="0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e")
        await client.result("alias.delete", alias="+81312345678")
        await client.result("group.delete", name=group["name"])
        await client.refused(-32003, "not_found", "group.get", name=group["name"])
        await client.refused(-32003, "not_found", "group.delete", name=group["name"])
        await client.refused(-32003, "not_found", "alias.delete", alias="+81312345678")


async def wrong():
    async with connect() as socket:
        client = Client(socket)
        await client.refused(-32601, "method_not_found", "call.invite")
        await client.refused(-32602, "invalid_params", "group.get")
        await client.refused(-32602, "invalid_params", "group.set", name="s", strategy="any", members=[])
        await client.refused(-32602, "invalid_params", "group.set", name="s", strategy="all", members=["m"] * 1001)
        for text, code, word in (("{", -32700, "parse_error"), ("[]", -32600, "invalid_request"),
                                 ('{"jsonrpc":"2.0","method":"group.list"}', -32600, "invalid_request")):
            answer = await client.raw(text)
            assert answer["id"] is None, answer
            refused(answer["error"], code, word)
        assert await client.result("group.list") == {"items": []}
        await socket.send(" " * (1 << 19) + " ")
        try:
            await asyncio.wait_for(socket.recv(), 30)
            raise AssertionError("a frame over the limit was taken")
        except websockets.ConnectionClosed as closed:
            assert closed.rcvd.code == 3502, closed
    for path, subprotocol, status in (("/v1/signal", "reveille.admin.v1", 404), ("/v1/admin", "reveille.v1", 400)):
        try:
            async with connect(path, subprotocol):
                raise AssertionError((path, subprotocol))
        except websockets.InvalidStatusCode as refusal:
            assert refusal.status_code == status, refusal


async def hasty():
    """Disconnects before the response, many times; another client is served meanwhile."""
    async with connect() as socket:
        client = Client(socket)
        for number in range(50):
            other = await connect()
            await other.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "group.set", "params": {
                "name": f"g{number:02}", "strategy": "all", "members": ["alice"]}}))
            other.transport.abort()
            await client.result("alias.list")
        names = [group["name"] for group in (await client.result("group.list"))["items"]]
        assert names == sorted(names) and len(names) == len(set(names)) <= 50, names
        assert all(name.startswith("g") for name in names), names


async def main():
    for part in (whole, wrong, hasty):
        await asyncio.wait_for(part(), 60)


asyncio.run(main())
