"""Faulty and hostile clients. Arguments: the server's URL, the scenario, and its tokens."""

import sys
import traceback

from signaling import *

URL, SCENARIO, *TOKENS = sys.argv[1:]


def refusal(error, code, name, **more):
    shape(error, code=code, message=is_text, data={"code": name, **more})


async def not_json():
    client = await Client.connect(URL)
    for text in ("", "hello", "{", '{"jsonrpc":"2.0"', "\x00", '{"a":1}}'):
        await client.send(text)
        refusal(await client.orphan(), -32700, "parse_error")
    await client.send("[" * 5_000)
    refusal(await client.orphan(), -32008, "too_large", limit=64)
    await client.open(TOKENS[0])


async def not_a_request():
    client = await Client.connect(URL)
    for text in ("1", "null", '"session.open"', "{}", '{"jsonrpc":"1.0","method":"session.open"}',
                 '{"jsonrpc":"2.0","method":7}', '{"jsonrpc":"2.0","id":[],"method":"session.open"}',
                 '{"jsonrpc":"2.0","method":"session.open","params":{}}'):
        await client.send(text)
        refusal(await client.orphan(), -32600, "invalid_request")
    await client.open(TOKENS[0])
    # Positional parameters, and parameters of the wrong kind.
    for params in ('["x"]', '{"call_id":7}', '{"call_id":"x"}', '{}'):
        try:
            await client.ask("call.hangup", params)
            raise AssertionError(params)
        except Refused as refused:
            refusal(refused.error, -32602, "invalid_params")


async def batch():
    client = await Client.connect(URL)
    await client.send('[{"jsonrpc":"2.0","id":1,"method":"session.close"}]')
    refusal(await client.orphan(), -32600, "invalid_request")
    await client.open(TOKENS[0])


async def unknown_method():
    client = await Client.connect(URL)
    await client.open(TOKENS[0])
    refusal(await client.refused("call.teleport"), -32601, "method_not_found")
    refusal(await client.refused("x" * 60_000), -32601, "method_not_found")


async def too_large():
    client = await Client.connect(URL)
    await client.open(TOKENS[0])
    await client.send(" " * 65_537)
    assert await client.closed() == 3502


async def binary():
    client = await Client.connect(URL)
    await client.send(b'{"jsonrpc":"2.0"}')
    assert await client.closed() == 1003


async def not_utf8():
    client = await Client.connect(URL)
    await client.socket.write_frame(True, 1, b'{"a":"\xff"}')
    assert await client.closed() == 1007


async def bad_token():
    """Each token given is refused, and the connection closed."""
    for token in TOKENS + ["x", "a.b.c", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbGljZSIsImV4cCI6OTk5OTk5OTk5OX0."]:
        client = await Client.connect(URL)
        error = await client.refused("session.open", token=token, device={"id": client.device, "platform": "web"})
        refusal(error, -32001, "unauthenticated")
        assert await client.closed() == 3500


async def not_opened_yet():
    """Before session.open every other request is refused."""
    client = await Client.connect(URL)
    call = "00000000-0000-4000-8000-000000000000"
    for method, params in (("call.invite", {"call_id": call, "to": "bob"}), ("call.list", {}),
                           ("session.close", {}), ("call.get", {"call_id": call}), ("device.update", {"push": []})):
        refusal(await client.refused(method, **params), -32001, "unauthenticated")
    await client.notify("session.ack", seq=5)
    await client.open(TOKENS[0])


async def opened_twice():
    client = await Client.connect(URL)
    await client.open(TOKENS[0])
    error = await client.refused("session.open", token=TOKENS[1], device={"id": client.device, "platform": "web"})
    assert error["data"]["code"] == "bad_state", error
    # The session is unchanged.
    call = "00000000-0000-4000-8000-000000000001"
    result = await client.request("call.invite", call_id=call, to="nobody")
    shape(result, call_id=call, state="ended", reason="unknown_callee")
    assert [known["call_id"] for known in (await client.request("call.list"))["calls"]] == [call]


async def replaced():
    """A new session of a device replaces the old one."""
    old, new = await Client.connect(URL), await Client.connect(URL)
    await old.open(TOKENS[0])
    new.device = old.device
    result = await new.open(TOKENS[0])
    assert result["resumed"] is False
    assert await old.closed() == 3503
    await new.request("call.list")


async def never_opened():
    client = await Client.connect(URL)
    assert await client.closed() == 3504


async def refused_session():
    """The user's second device exceeds the limit: it gets no session, and no history."""
    first, second = await Client.connect(URL), await Client.connect(URL)
    await first.open(TOKENS[0])
    error = await second.refused("session.open", token=TOKENS[0], device={"id": second.device, "platform": "web"})
    refusal(error, -32010, "limit_reached", limit=1)
    refusal(await second.refused("call.list"), -32001, "unauthenticated")
    assert await second.closed() == 3504
    await first.request("call.list")


async def too_fast():
    """The burst is served. Further requests are refused with a time to wait, and then the client is closed."""
    client = await Client.connect(URL)
    await client.open(TOKENS[0])
    served = refused = 0
    for _ in range(60):
        try:
            await client.request("call.list")
            served += 1
        except Refused as error:
            refused += 1
            wait = error.error["data"]["retry_after_ms"]
            refusal(error.error, -32007, "rate_limited", retry_after_ms=wait)
            assert 0 < wait <= 10_000, wait
    assert served >= 10 and refused >= 10, (served, refused)
    try:
        for number in range(5_000):
            client.answers[f"x{number}"] = asyncio.get_running_loop().create_future()
            await client.send('{"jsonrpc":"2.0","id":"x%d","method":"call.list"}' % number)
    except websockets.ConnectionClosed:
        pass
    assert await client.closed() == 3505


async def unheard():
    """Notifications before the session and beyond the allowance get no reply; the requests between them do."""
    client = await Client.connect(URL)
    ack = '{"jsonrpc":"2.0","method":"session.ack","params":{"seq":0}}'
    for _ in range(3):
        await client.send(ack)
    await client.open(TOKENS[0])
    for _ in range(60):
        await client.send(ack)
    try:
        await client.request("call.list")
        raise AssertionError("the allowance was used up")
    except Refused as error:
        assert error.error["data"]["code"] == "rate_limited", error


async def garbage():
    """Everything at once, from twenty clients."""
    async def one(number):
        client = await Client.connect(URL)
        if number % 2:
            await client.open(TOKENS[0])
        for text in ("", "}", "[]", '{"jsonrpc":"2.0","id":1,"method":"call.hangup","params":{"call_id":"x"}}' * 20):
            await client.send(text)
            await client.orphan()
        await (client.send(b"\x00") if number % 3 else client.send("x" * 70_000))
        assert await client.closed() in (1003, 3502)
    await asyncio.gather(*(one(number) for number in range(20)))


async def in_turn():
    """Runs scenarios one after the other; prints each name first. Arguments: for each its name and two tokens."""
    global TOKENS
    rows, failed = list(zip(TOKENS[::3], TOKENS[1::3], TOKENS[2::3])), []
    for name, *TOKENS in rows:
        print(name, flush=True)
        try:
            await globals()[name]()
        except Exception:
            print(f"{name}: {traceback.format_exc()}", file=sys.stderr)
            failed.append(name)
    assert rows and not failed, failed


run(globals()[SCENARIO]())
