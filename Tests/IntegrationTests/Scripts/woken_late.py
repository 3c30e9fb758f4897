"""A phone woken by a push for an ended call, with only the data of the push. Arguments: the server's URL,
the wake token, the device, the call, the push, and how the call ended."""

import sys

from signaling import *

URL, WAKE_TOKEN, DEVICE, CALL, PUSH, REASON = sys.argv[1:]


async def main():
    phone = await Client.connect(URL)
    phone.device = DEVICE
    opened = await phone.open(WAKE_TOKEN)
    assert opened["user"] == "bob" and opened["resumed"] is False and opened["missed"] == [], opened
    ended = dict(call_id=CALL, role="callee", state="ended", reason=REASON,
                 **{"from": lambda caller: caller["handle"] == "alice"}, to="bob", video=False, created_at=is_time,
                 ended_at=is_time, push_id=PUSH, by=lambda by: by["user"] == "alice", callkit_reason="remoteEnded",
                 sip_status=487, q850=16)
    assert len(opened["calls"]) == 1, opened
    shape(opened["calls"][0], **ended)

    # The requests of a phone that rang for it: all are late, and get the current state.
    report = await phone.request("push.report", push_id=PUSH, call_id=CALL, result="reported")
    shape(report, state="ended", reason=REASON)
    shape(await phone.request("call.ringing", call_id=CALL), state="ended", reason=REASON)
    late = await phone.refused("call.answer", call_id=CALL)
    shape(late, code=-32004, message=is_text, data={"code": "call_ended", "reason": REASON})
    shape(await phone.request("call.decline", call_id=CALL, reason="declined"), state="ended", reason=REASON)
    shape(await phone.request("call.get", call_id=CALL), **ended)

    # The wake token is valid for this call only.
    for method, params in (("call.invite", {"call_id": str(uuid.uuid4()), "to": "alice"}),
                           ("call.get", {"call_id": str(uuid.uuid4())}), ("call.list", {}),
                           ("device.update", {"push": []})):
        refused = await phone.refused(method, **params)
        shape(refused, code=-32002, message=is_text, data={"code": "forbidden"})

    assert await phone.request("session.close") == {}
    assert await phone.closed() == 1000
    assert phone.events.empty() and phone.orphans.empty()


run(main())
