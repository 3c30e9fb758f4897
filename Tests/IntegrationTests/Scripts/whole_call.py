"""A call from the first frame to the last, with both sides in this script. Checks every member of every message against
the protocol. Arguments: the server's URL, a token for alice (called Alice), one for bob."""

import sys
import uuid

from signaling import *

URL, ALICE_TOKEN, BOB_TOKEN = sys.argv[1:]
# Valid JSON that parsing and writing would change.
OFFER = '"v=0\\r\\n\\u00e9\\/é\\u0061=x"'
ANSWER = '"v=0\\r\\n\\u0061nswer"'
CUSTOM = '[1 ,2.0,{"a":null, "a":null}]'
CANDIDATES = '[{"candidate":"candidate:1 1 UDP 2122260223 127.0.0.1 9 typ host" , "sdpMid":"0"},"\\u002e", 1E3]'


async def opened(token, user):
    client = await Client.connect(URL)
    shape(client.welcome, protocol=1, server="reveille", version=is_text, node=is_text, time=is_time,
          ping_interval_ms=at_most(60_000), max_frame_bytes=65_536, features=lambda value: isinstance(value, list))
    result = await client.open(token)
    shape(result, session_id=is_uuid, user=user, resume=lambda value: True, resumed=False, calls=[], missed=[])
    shape(result["resume"], token=is_text, window_ms=30_000)
    return client


ALICE = {"handle": "alice", "handle_type": "generic", "name": "Alice"}


async def set_up(alice, bob):
    """Invite, ring, answer, connect. Returns the call's id."""
    call = str(uuid.uuid4())
    # An iPhone writes UUIDs in upper case; it is the same call.
    result = await alice.ask("call.invite", '{"call_id":"%s","to":"bob","ring_ms":20000,"sdp":%s,"custom":%s}' % (
        call.upper(), OFFER, CUSTOM))
    shape(result, call_id=call, state="routing", expires_at=is_time, remaining_ms=at_most(20_000))
    deadline = result["expires_at"]

    incoming, text = await bob.event("call.incoming")
    shape(incoming, call_id=call, **{"from": ALICE},
          to="bob", video=False, sdp=lambda value: True, candidates=[], custom=[1, 2.0, {"a": None}],
          expires_at=deadline, remaining_ms=at_most(20_000), push_id=is_uuid)
    assert '"sdp":' + OFFER in text and '"custom":' + CUSTOM in text, text

    # A repeated invite is the same call; another body with its id is a conflict.
    again = await alice.ask("call.invite", '{"call_id":"%s","to":"bob","ring_ms":20000,"sdp":%s,"custom":%s}' % (
        call, OFFER, CUSTOM))
    assert again["call_id"] == call and again["expires_at"] == deadline
    other = await alice.refused("call.invite", call_id=call, to="bob")
    shape(other, code=-32009, message=is_text, data={"code": "conflict"})

    shape(await bob.request("call.ringing", call_id=call), state="ringing")
    ringing, _ = await alice.state("ringing")
    shape(ringing, call_id=call, state="ringing", at=is_time, by={"user": "bob", "device_id": bob.device},
          legs={"waking": 0, "ringing": 1}, expires_at=deadline, remaining_ms=at_most(20_000))

    assert await bob.ask("call.answer", '{"call_id":"%s","sdp":%s}' % (call, ANSWER)) == {"won": True}
    answered, text = await alice.state("answered")
    shape(answered, call_id=call, state="answered", at=is_time, by={"user": "bob", "device_id": bob.device},
          sdp="v=0\r\nanswer", legs={"waking": 0, "ringing": 0}, expires_at=is_time, remaining_ms=at_most(20_000),
          polite=False)
    assert '"sdp":' + ANSWER in text, text

    shape(await alice.request("call.connected", call_id=call), state="answered")
    shape(await bob.request("call.connected", call_id=call), state="connected")
    for client in (alice, bob):
        params, _ = await client.state("connected")
        shape({name: params[name] for name in params if name != "by"},
              call_id=call, state="connected", at=is_time, legs={"waking": 0, "ringing": 0}, polite=client is bob)
    return call


async def relay(sender, receiver, call):
    """Candidates and updates are relayed byte for byte."""
    await sender.send('{"jsonrpc":"2.0","method":"call.candidates","params":{"call_id":"%s","candidates":%s}}' % (
        call, CANDIDATES))
    params, text = await receiver.event("call.candidates")
    shape(params, call_id=call, candidates=lambda value: len(value) == 3)
    for candidate in ('{"candidate":"candidate:1 1 UDP 2122260223 127.0.0.1 9 typ host" , "sdpMid":"0"}',
                      '"\\u002e"', '1E3'):
        assert candidate in text, text
    await sender.notify("call.candidates", call_id=call, candidates=[], final=True)
    params, _ = await receiver.event("call.candidates")
    shape(params, call_id=call, candidates=[], final=True)

    await sender.ask("call.update", '{"call_id":"%s","kind":"offer","sdp":%s,"custom":%s}' % (call, OFFER, CUSTOM))
    params, text = await receiver.event("call.update")
    shape(params, call_id=call, kind="offer", sdp=lambda value: True, custom=[1, 2.0, {"a": None}])
    assert '"sdp":' + OFFER in text and '"custom":' + CUSTOM in text, text
    await sender.request("call.update", call_id=call, kind="hold")
    params, _ = await receiver.event("call.update")
    shape(params, call_id=call, kind="hold")


async def snapshots(alice, bob, call):
    by = {"user": "bob", "device_id": bob.device}
    common = {"call_id": call, "state": "connected", "from": ALICE, "to": "bob", "video": False, "by": by,
              "created_at": is_time, "answered_at": is_time, "connected_at": is_time}
    shape(await alice.request("call.get", call_id=call), role="caller", **common)
    shape(await bob.request("call.get", call_id=call), role="callee", push_id=is_uuid,
          custom=[1, 2.0, {"a": None}], **common)


async def end(alice, bob, call):
    shape(await alice.request("call.hangup", call_id=call), state="ended", reason="hangup")
    for client, callkit in ((alice, None), (bob, "remoteEnded")):
        params, _ = await client.event("call.ended")
        shape(params, call_id=call, reason="hangup", by={"user": "alice", "device_id": alice.device}, at=is_time,
              callkit_reason=(lambda value: value is None) if callkit is None else callkit, sip_status=200, q850=16)
    # Late requests change nothing and get the current state; only a late answer is an error.
    for method in ("call.hangup", "call.connected"):
        shape(await bob.request(method, call_id=call), state="ended", reason="hangup")
    late = await bob.refused("call.answer", call_id=call)
    shape(late, code=-32004, message=is_text, data={"code": "call_ended", "reason": "hangup"})
    stranger = await bob.refused("call.get", call_id=str(uuid.uuid4()))
    shape(stranger, code=-32002, message=is_text, data={"code": "forbidden"})

    history = await alice.request("call.list", limit=5)
    shape(history, calls=lambda value: len(value) == 1)
    shape(history["calls"][0], call_id=call, role="caller", state="ended", **{"from": ALICE}, to="bob", video=False,
          created_at=is_time, answered_at=is_time, connected_at=is_time, ended_at=is_time, reason="hangup",
          by={"user": "alice", "device_id": alice.device}, callkit_reason=lambda value: value is None, sip_status=200,
          q850=16)


async def main():
    alice, bob = await opened(ALICE_TOKEN, "alice"), await opened(BOB_TOKEN, "bob")
    call = await set_up(alice, bob)
    await relay(alice, bob, call)
    await relay(bob, alice, call)
    await snapshots(alice, bob, call)
    await end(alice, bob, call)
    for client in (alice, bob):
        await client.notify("session.ack", seq=client.seq)
        assert await client.request("session.close") == {}
        assert await client.closed() == 1000
        assert client.events.empty() and client.orphans.empty()


run(main())
