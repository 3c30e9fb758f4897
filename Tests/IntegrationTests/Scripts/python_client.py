"""Tests of the Python client in Resources. Arguments: the server's URL, and one of these:

    call ALICE_TOKEN BOB_TOKEN            a whole call with a lost connection
    woken WAKE_TOKEN PUSH CALL DEVICE     a phone that a push woke
    native WAKE_TOKEN PUSH CALL DEVICE    a phone whose native code answers before the app has a session
"""

import asyncio
import sys

from reveille import Client, Closed, ReveilleError, act, get_call, report_push

URL, SCENARIO, *ARGUMENTS = sys.argv[1:]
CANDIDATE = {"candidate": "candidate:1 1 UDP 2122260223 127.0.0.1 9 typ host", "sdpMid": "0"}


async def call(alice_token, bob_token):
    async with Client(URL, alice_token) as alice, Client(URL, bob_token) as bob:
        assert (alice.user, bob.user) == ("alice", "bob")
        number = await alice.invite("bob", sdp="offer", custom={"room": 7})
        incoming = await bob.event("call.incoming", number)
        assert incoming.params["sdp"] == "offer" and incoming.params["custom"] == {"room": 7}, incoming
        assert (await bob.ringing(number))["state"] == "ringing"
        await alice.event("call.state", number, state="ringing")
        assert await bob.answer(number, sdp="answer") == {"won": True}
        answered = await alice.event("call.state", number, state="answered")
        assert answered.params["sdp"] == "answer", answered
        await alice.candidates(number, [CANDIDATE], final=True)
        assert (await bob.event("call.candidates", number)).params["candidates"] == [CANDIDATE]
        await alice.connected(number)
        await bob.connected(number)
        await alice.event("call.state", number, state="connected")

        # Breaks the connection of alice.
        alice._socket.transport.abort()
        await bob.event("call.peer", number, presence="away")
        await bob.event("call.peer", number, presence="back")
        assert (await bob.update(number, "hold")) == {}
        assert (await alice.event("call.update", number)).params["kind"] == "hold"
        assert (await get_call(URL, alice_token, number))["state"] == "connected"

        assert (await alice.hangup(number))["state"] == "ended"
        assert (await bob.event("call.ended", number)).params["reason"] == "hangup"
        try:
            await bob.answer(number)
            raise AssertionError("an ended call was answered")
        except ReveilleError as refused:
            assert refused.code == "call_ended", refused

    try:
        await Client(URL, "not a token").open()
        raise AssertionError("a bad token was accepted")
    except ReveilleError as refused:
        assert refused.code == "unauthenticated", refused

    # A newer session of a device ends the older one for good.
    first = Client(URL, alice_token, device_id="41c4b45f-8d0c-4d6e-9a53-0d1f6c1f2b77")
    await first.open()
    async with Client(URL, alice_token, device_id=first.device_id):
        try:
            async for _ in first.events():
                pass
            raise AssertionError("a replaced session goes on")
        except Closed as closed:
            assert closed.code == 3503, closed
    await first.close()


async def woken(token, push, number, device):
    assert (await report_push(URL, token, push, number))["state"] == "ringing"
    assert (await get_call(URL, token, number))["sdp"] == "offer"
    async with Client(URL, token, device_id=device, platform="ios") as bob:
        assert [known["call_id"] for known in bob.calls] == [number]
        await bob.answer(number, sdp="answer")
        await bob.connected(number)
        assert (await bob.event("call.ended", number, timeout=20)).params["reason"] == "hangup"


async def native(token, push, number, device):
    assert (await report_push(URL, token, push, number))["state"] == "ringing"
    for _ in range(2):
        assert (await act(URL, token, number, "ringing"))["state"] == "ringing"
    for _ in range(2):
        assert await act(URL, token, number, "answer") == {"won": True}
    try:
        await act(URL, token, number, "decline", reason="busy")
        raise AssertionError("an answered call was declined")
    except ReveilleError as refused:
        assert refused.code == "bad_state", refused
    async with Client(URL, token, device_id=device, platform="ios") as bob:
        assert [(known["state"], known["sdp"]) for known in bob.calls] == [("answered", "offer")], bob.calls
        assert (await bob.event("call.candidates", number)).params["candidates"] == [CANDIDATE]
        assert await bob.answer(number, sdp="answer") == {"won": True}
        await bob.connected(number)
        await bob.event("call.state", number, state="connected")
        assert (await act(URL, token, number, "hangup"))["state"] == "ended"
        assert (await bob.event("call.ended", number)).params["reason"] == "hangup"
    try:
        await act(URL, token, number, "answer")
        raise AssertionError("an ended call was answered")
    except ReveilleError as refused:
        assert refused.code == "call_ended", refused


asyncio.run(asyncio.wait_for({"call": call, "woken": woken, "native": native}[SCENARIO](*ARGUMENTS), 40))
