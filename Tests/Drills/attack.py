"""Attacks beside ordinary calls. The first argument names one of DRILLS.

One ordinary phone calls another all the time. Each attack comes from a process of its own, or from a server that is
asked. The drill prints a line for it: the calls, their median and longest time from the invite to `call.incoming`,
the server's highest memory, and the commonest answers to the attack. The drill fails if a call takes longer than
LONGEST, if the server ends, or if its memory grows by more than MEMORY. In `shares` also if an event, a push or the
refusal of a call takes longer than LONGEST, or if a call is placed that the hook refuses.

COUNT is the number of seconds of each attack; below ALONE the attacks of a group run at the same time. For `answers`
COUNT says how often each answer is given.
"""

import asyncio
import base64
import collections
import contextlib
import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import time
import uuid

from common import FOLDER, ROOM, Wrong, count, expect
from network_common import (
    LATEST_REPLY, PROXY, UPGRADE, Gone, Phone, Refused, Socket, attacker, certificate, main, made, memory, metric,
    report, started, token, trusting)
from phones import TOPIC, Simulator, fetch

# In seconds, from an invite to `call.incoming`, to the event at the receiver of webhooks, or to the push.
LONGEST = 2.0 * ROOM
# In MiB, beyond what the server has after its first calls: some users who have their share of calls in memory.
MEMORY = float(os.environ.get("DRILL_MEMORY") or 300)
# Between two calls, in seconds: fewer of them than a user may place.
PAUSE = 0.15
ALONE, CONNECTIONS = 5, 4
# A backend's token, which the attackers have too.
BACKEND = os.environ.setdefault("DRILL_BACKEND", "rvb_" + os.urandom(32).hex())
# How long an attacker waits for an answer, in seconds.
PATIENCE = 3


class Calls:
    """The ordinary caller and callee. Each call is answered and hung up before the next one."""

    def __init__(self, server, **options):
        self.server, self.options = server, options
        self.caller, self.callee = Phone("caller"), Phone("callee", self.at_callee)
        # By call: who waits for `call.incoming`. accepted: when the invites of this attack were.
        self.incoming, self.accepted = {}, {}
        self.kept, self.refused, self.faults = 0, 0, []

    async def open(self):
        await self.callee.open(self.server.port, **self.options)
        await self.caller.open(self.server.port, **self.options)
        await self.during("none", asyncio.sleep(1))
        self.kept = memory(self.server)[0]

    def at_callee(self, method, params):
        if method == "call.incoming" and params["call_id"] in self.incoming:
            self.incoming.pop(params["call_id"]).set_result(time.monotonic())

    async def call(self):
        """Returns the seconds from the first invite to `call.incoming`."""
        call, began = str(uuid.uuid4()), time.monotonic()
        incoming = self.incoming[call] = asyncio.get_running_loop().create_future()
        self.refused += await placed(self.caller, call, self.callee.user)
        self.accepted[call] = time.monotonic()
        rang = await asyncio.wait_for(incoming, LATEST_REPLY)
        await self.callee.request("call.answer", call_id=call, sdp="v=0")
        await self.caller.request("call.hangup", call_id=call)
        return rang - began

    async def during(self, name, work, also=None):
        """Places calls until the attack `work`, which returns its counters, has ended. `also` returns more figures for
        the line, by name in seconds; each is at most LONGEST."""
        times, self.refused, self.accepted = [], 0, {}
        with open(f"/proc/{self.server.process.pid}/clear_refs", "w") as peak:
            peak.write("5")
        task = asyncio.ensure_future(work)
        try:
            while not task.done() or not times:
                times.append(await self.call())
                await asyncio.sleep(PAUSE)
            figures = await also() if also else {}
        except (Gone, Refused, OSError, asyncio.TimeoutError) as error:
            task.cancel()
            # The process ends a moment after its connections.
            await asyncio.sleep(0.5)
            self.expect_running(name)
            raise Wrong(f"{name}: after {len(times)} calls one failed: {type(error).__name__} {error}") from None
        self.expect_running(name)
        self.tell(name, sorted(times), figures, task.result())

    def tell(self, name, times, figures, counted):
        expect(counted or counted is None, f"{name}: the attack sent nothing")
        most = memory(self.server)[1]
        figures = {"longest": times[-1], **figures}
        longest = ", ".join(f"{what} {seconds * 1000:.0f}" for what, seconds in figures.items())
        answers = ", ".join(f"{number} {what}" for what, number in collections.Counter(counted).most_common(3))
        refused = f", {self.refused} refused as overloaded" * bool(self.refused)
        print(f"  {name:46} {len(times):4} calls{refused}, p50 {times[len(times) // 2] * 1000:.0f} ms, {longest} ms, "
              f"memory {most:.0f} MiB; {answers}", flush=True)
        self.faults += [f"{name}: {what} {seconds:.1f} s" for what, seconds in figures.items() if seconds > LONGEST]
        if self.kept and most - self.kept > MEMORY:
            self.faults.append(f"{name}: {most - self.kept:.0f} MiB more")

    def expect_running(self, name):
        if (ended := self.server.process.poll()) is not None:
            raise Wrong(f"{name}: the server ended with {ended}:\n{self.server.output[-2000:]}")

    def check(self):
        self.expect_running("after the attacks")
        expect(not self.faults, f"allowed are {LONGEST} s and {MEMORY:.0f} MiB: {'; '.join(self.faults)}")
        self.server.kill()


async def placed(phone, call, callee):
    """Repeats the invite while the server refuses it as overloaded. Returns how often it did."""
    deadline, refusals = time.monotonic() + LATEST_REPLY, 0
    while True:
        try:
            await phone.request("call.invite", call_id=call, to=callee, sdp="v=0")
            return refusals
        except Refused as refused:
            if refused.code != "overloaded" or time.monotonic() > deadline:
                raise
            refusals += 1
            await asyncio.sleep(refused.data["retry_after_ms"] / 1000)


async def each(calls, kind, groups, beside=None, also=None):
    """Runs the attacks of the groups: those of a group at the same time, or with a long COUNT one after another.
    `beside` runs beside each of them."""
    seconds = count(2)
    for group, attacks in groups.items():
        for name in attacks if seconds >= ALONE else [None]:
            process = await attacker(
                kind, calls.server.port, CONNECTIONS if name else 1, seconds, group, *([name] if name else []))

            async def attack():
                return (await asyncio.gather(report(process), *([beside(seconds)] if beside else [])))[0]

            await calls.during(f"{group}: {name}" if name else group, attack(), also)


def attacks_of(groups):
    """What the attacker's process does: the attacks of a group, or one of them, on `number` connections each."""

    async def run(port, number, seconds, group, *names):
        os.nice(19)
        end, counted = time.monotonic() + seconds, collections.Counter()
        await asyncio.gather(*[
            repeated(groups[group][name], port, end, counted)
            for name in names or groups[group] for _ in range(number)])
        print(json.dumps(dict(counted.most_common(12))))

    return run


async def repeated(attack, port, end, counted):
    """Runs the attack again and again. It counts its answers, or returns one."""
    state = {}
    while time.monotonic() < end:
        try:
            if answer := await attack(port, end, counted, state):
                counted[answer] += 1
        except Refused as refused:
            counted[refused.code] += 1
            await asyncio.sleep(0.02)
        except Gone as gone:
            counted[f"closed with {gone.code}"] += 1
        except (OSError, EOFError, asyncio.TimeoutError) as error:
            counted[type(error).__name__] += 1


# Inputs that cost more than their length


def marks(size):
    """A text that Swift sorts to compare it, in a time that grows with the square of its length."""
    half = size // 4
    return ("a" + "\u0315" * half + "\u0323" * half).encode()


def escaped(size):
    half = size // 12
    return b"\\u0315" * half + b"\\u0323" * half


def encoded(size):
    half = size // 12
    return b"%CC%95" * half + b"%CC%A3" * half


def request(text, source=None):
    """Sends a request, or its parts, on a connection of its own."""

    async def attack(port, end, counted, state):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(source, 0) if source else None)
        try:
            for part in text if isinstance(text, list) else [text]:
                writer.write(part)
                await writer.drain()
            line = await asyncio.wait_for(reader.readline(), PATIENCE)
            return line.split()[1].decode() if line else "closed"
        finally:
            writer.transport.abort()

    return attack


def get(target=b"/", fields=b"", method=b"GET", host=b"drill"):
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (method, target, host, fields)


def post(target, body):
    fields = b"Authorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n" % (
        token("mallory").encode(), len(body))
    return get(target, fields, b"POST") + body


def upgrade(name, value):
    """The handshake of a WebSocket with more in one of its fields."""
    return UPGRADE.replace(b"\r\n%s: " % name, b"\r\n%s: %s, " % (name, value))


def frame(payload, is_raw=False):
    """Sends a frame before a session is open, on a connection of its own."""

    async def attack(port, end, counted, state):
        link = await Socket.connect(port)
        try:
            await asyncio.wait_for(link.frame(), PATIENCE)
            if is_raw:
                link.writer.write(payload)
            else:
                link.write(payload)
            await link.writer.drain()
            answer = json.loads(await asyncio.wait_for(link.frame(), PATIENCE))
            return answer.get("error", {}).get("data", {}).get("code", "taken")
        finally:
            link.cut()

    return attack


USERS = itertools.count()


def in_session(payload):
    """Sends a frame again and again in a session, and waits each time until the server has handled it. `@CALL@` in the
    frame stands for another id each time."""
    user = f"mallory{next(USERS)}"

    async def attack(port, end, counted, state):
        phone = await opened(state, port, user)
        phone.socket.write(payload.replace(b"@CALL@", str(uuid.uuid4()).encode()))
        await phone.socket.writer.drain()
        await phone.request("session.state", app="foreground")
        return "handled"

    return attack


async def opened(state, port, user):
    """The phone of this connection with a session, which may be its first one or another after a close."""
    phone = state.setdefault("phone", Phone(user))
    if phone.closed is None or phone.closed.done():
        # A session of its own: what it has not acknowledged is not sent again.
        phone.resume = None
        await phone.open(port)
    return phone


def rpc(method, params, number=b"0"):
    return b'{"jsonrpc":"2.0","id":%s,"method":"%s","params":{%s}}' % (number, method, params)


def opening(params, jwt=b"t", device=b""):
    return rpc(b"session.open", b'"token":"%s","device":{"id":"6ba7b810-9dad-41d1-80b4-00c04fd430c8",'
               b'"platform":"web"%s}%s' % (jwt, device, params), b"1")


def tokens(**members):
    """A push token in which these members are others."""
    whole = {"provider": b"apns", "kind": b"voip", "environment": b"production", "topic": TOPIC.encode(),
             "token": b"ab" * 32, **members}
    return b'"push":[{%s}]' % b",".join(b'"%s":"%s"' % (name.encode(), text) for name, text in whole.items())


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def forged(header):
    return base64url(header) + b".e30.AAAA"


def member_by_member(text, size):
    """Frames with the text in each place that is read before a session is open."""
    long, short = text(size), text(11_000)
    yield "method", rpc(long, b"")
    yield "id", rpc(b"x", b"", b'"%s"' % long)
    yield "version", b'{"jsonrpc":"%s","id":1,"method":"x"}' % long
    yield "name", b'{"%s":1}' % long
    yield "name in params", opening(b',"%s":1' % text(size - 200))
    yield "device name", opening(b"", device=b',"name":"%s"' % text(size - 200))
    yield "app", opening(b"", device=b',"app":"%s"' % text(size - 200))
    for name in (b"id", b"platform"):
        yield f"device {name.decode()}", opening(b"", device=b',"%s":"%s"' % (name, text(size - 200)))
    for name in (b"session_id", b"token"):
        yield f"resume {name.decode()}", opening(
            b',"resume":{"session_id":"s","token":"t","last_seq":0,"%s":"%s"}' % (name, text(size - 300)))
    for name in ("provider", "kind", "environment", "topic", "token", "profile"):
        yield f"push {name}", opening(b"," + tokens(**{name: text(size - 400)}))
    yield "token", opening(b"", text(16_000))
    for name in (b"alg", b"kid", b"crit"):
        yield f"{name.decode()} of a token", opening(b"", forged(b'{"alg":"HS256","%s":"%s"}' % (name, short)))
    yield "name in a token", opening(b"", forged(b'{"alg":"HS256","%s":1}' % short))


def in_requests(text):
    """The same in a session."""
    long = text(30_000)
    for place, method, params in [
            ("to", b"call.invite", b'"call_id":"@CALL@","to":"%s"' % long),
            ("list", b"call.invite", b'"call_id":"@CALL@","to":["%s"]' % text(24_000)),
            ("group", b"call.invite", b'"call_id":"@CALL@","to":{"group":"%s"}' % long),
            ("call id", b"call.invite", b'"call_id":"%s","to":"nobody"' % long),
            ("video", b"call.invite", b'"call_id":"@CALL@","to":"nobody","video":"%s"' % long),
            ("sdp", b"call.invite", b'"call_id":"@CALL@","to":"nobody","sdp":"%s"' % long),
            ("custom", b"call.invite", b'"call_id":"@CALL@","to":"nobody","custom":{"%s":1}' % text(16_000)),
            ("decline", b"call.decline", b'"call_id":"@CALL@","reason":"%s"' % long),
            ("hang-up", b"call.hangup", b'"call_id":"@CALL@","reason":"%s"' % long),
            ("update", b"call.update", b'"call_id":"@CALL@","kind":"%s"' % long),
            ("candidates", b"call.candidates", b'"call_id":"@CALL@","candidates":["%s"]' % long),
            ("state", b"session.state", b'"app":"%s"' % long),
            ("report", b"push.report", b'"push_id":"@CALL@","call_id":"@CALL@","result":"%s"' % long),
            ("push id", b"push.report", b'"push_id":"%s","call_id":"@CALL@","result":"reported"' % long),
            ("page", b"call.list", b'"before_call_id":"%s"' % long),
            ("method", long, b""), ("deep names", b"call.get", deep(b'"%s"' % text(900), 50))]:
        yield place, rpc(method, params)
    for name in ("provider", "kind", "environment", "topic", "token", "profile"):
        yield f"push {name}", rpc(b"device.update", tokens(**{name: long}))


def deep(name, depth):
    """A member whose value is `depth` objects deep."""
    return b"%s:" % name + b"{%s:" % name * depth + b"1" + b"}" * depth


def structures(size):
    """Frames of this size that are deep, or have many parts."""
    yield "deep arrays", b"[" * size
    yield "deep objects", b'{"a":' * (size // 5)
    yield "deep params", rpc(b"call.get", b'"a":' + b"[" * ((size - 100) // 2) + b"]" * ((size - 100) // 2))
    yield "equal members", b'{%s"a":1}' % (b'"a":1,' * (size // 6 - 2))
    yield "different members", b'{%s"a":1}' % b"".join(
        b'"%d":1,' % number for number in range(10_000, 10_000 + size // 11))
    yield "repeated methods", b'{%s"id":1}' % (b'"method":"x",' * (size // 13 - 2))
    yield "digits", b'{"jsonrpc":"2.0","method":"x","id":%s}' % (b"9" * (size - 60))
    yield "fraction", b'{"jsonrpc":"2.0","method":"x","id":0.%s}' % (b"9" * (size - 60))
    yield "blanks", b" " * size
    yield "escapes", rpc(b"\\u0041" * ((size - 100) // 6), b"")
    yield "backslashes", rpc(b"\\\\" * ((size - 100) // 2), b"")
    yield "empty objects", b"[%s{}]" % (b"{}," * (size // 3 - 2))


def candidates(kind, state_of_call):
    """Some 10,000 candidates 20 times a second, from a caller whose call is as `state_of_call` says."""

    async def attack(port, end, counted, state):
        call, number = str(uuid.uuid4()), next(USERS)
        caller, callee = Phone(f"mallory-candidates{number}"), Phone(f"eve{number}")
        try:
            await callee.open(port)
            await caller.open(port)
            await caller.request("call.invite", call_id=call, to=callee.user, sdp="v=0")
            if state_of_call != "ringing":
                await callee.request("call.answer", call_id=call, sdp="v=0")
            if state_of_call == "away":
                callee.cut()
            listed = b"1111," * 12_000 if kind == "equal" else b"".join(b"%d," % n for n in range(10_000, 20_000))
            payload = (b'{"jsonrpc":"2.0","method":"call.candidates","params":{"call_id":"%s","candidates":[%s]}}' % (
                call.encode(), listed[:-1]))
            # The call rings for 6 s.
            call_end = min(end, time.monotonic() + 4)
            while time.monotonic() < call_end:
                caller.socket.write(payload)
                await caller.socket.writer.drain()
                await caller.request("session.state", app="foreground")
                counted["handled"] += 1
                await asyncio.sleep(0.05)
        finally:
            caller.cut()
            callee.cut()

    return attack


def numbered(frames, kind):
    return {name: kind(payload) for name, payload in frames}


FIELDS = [
    b"Accept", b"Accept-Encoding", b"Authorization", b"Connection", b"Content-Length", b"Content-Type", b"Cookie",
    b"Expect", b"Forwarded", b"Idempotency-Key", b"If-None-Match", b"Origin", b"Range", b"Sec-WebSocket-Protocol",
    b"Transfer-Encoding", b"Upgrade", b"User-Agent", b"Via", b"X-Forwarded-For"]
HANDSHAKE = [b"Connection", b"Upgrade", b"Sec-WebSocket-Key", b"Sec-WebSocket-Protocol", b"Sec-WebSocket-Version"]


def requests_with_marks():
    long, quoted = marks(30_000), encoded(30_000)
    yield "path", get(b"/" + long)
    yield "method", get(method=long)
    yield "host", get(host=long)
    yield "field name", get(fields=long + b": a\r\n")
    for name, target in [
            ("encoded path", b"/"), ("page", b"/phone/"), ("call", b"/v1/calls/"), ("push", b"/v1/pushes/"),
            ("user", b"/v1/backend/users/"), ("query", b"/v1/calls/a?device=")]:
        yield name, get(target + quoted)
    call = b"/v1/calls/6ba7b810-9dad-41d1-80b4-00c04fd430c8/"
    for action, member in [(b"decline", b"reason"), (b"hangup", b"reason"), (b"answer", b"sdp")]:
        for name, text in [("", long), (", escaped", escaped(30_000))]:
            yield f"body of {action.decode()}{name}", post(call + action, b'{"%s":"%s"}' % (member, text))


def requests_with_many_parts():
    page = b"/phone/"
    yield "empty lines", b"\r\n" * 16_000 + get()
    yield "line feeds", b"\n" * 32_000 + get()
    yield "empty lines in parts", [b"\r\n" * 256] * 62 + [get()]
    yield "equal fields", get(fields=b"Via: a\r\n" * 4_000)
    yield "different fields", get(fields=b"".join(b"F%d: a\r\n" % number for number in range(10_000, 12_900)))
    yield "short fields", get(fields=b"a:\r\n" * 8_000)
    yield "folded fields", get(fields=b"a: b\r\n" + b" \r\n" * 10_000)
    yield "segments", get(b"/a" * 16_000)
    yield "dots", get(b"/.." * 10_000)
    yield "encoded dots", get(b"/" + b"%2e" * 10_000)
    yield "query", get(b"/?" + b"&a=b" * 8_000)
    yield "codings", get(page, b"Accept-Encoding: %sgzip\r\n" % (b"a;q=0.5," * 3_900))
    yield "tags", get(page, b"If-None-Match: %s\r\n" % (b'"a",' * 8_000))
    yield "options", get(page, b"Connection: %sclose\r\n" % (b"a," * 16_000))
    yield "protocols", upgrade(b"Sec-WebSocket-Protocol", b"a," * 15_900)
    yield "digits", get(fields=b"Content-Length: %s\r\n" % (b"9" * 32_000))
    yield "requests at once", get(b"/healthz") * 800


def bodies_of_a_backend():
    """Bodies of 60 kB of a backend that may only read."""
    yield "marks in UTF-16", ('{"%s":1}' % marks(60_000).decode()).encode("utf-16-le")
    yield "marks in UTF-32", ('{"%s":1}' % marks(30_000).decode()).encode("utf-32-be")
    yield "short marks", b"{%s}" % b",".join(b'"%d%s":1' % (number, marks(240)) for number in range(100, 340))
    yield "members", b"{%s}" % b",".join(b'"%d":1' % number for number in range(10_000, 16_000))
    for name, unit in [("numbers", b"1"), ("texts", b'"a"'), ("empty objects", b"{}"), ("empty arrays", b"[]")]:
        yield name, b'{"a":[%s]}' % b",".join([unit] * (60_000 // (len(unit) + 1)))
    yield "deep arrays", b'{"a":%s}' % (b"[" * 30_000 + b"]" * 30_000)


def by_backend(body):
    fields = b"Authorization: Bearer %s\r\nContent-Length: %d\r\n" % (BACKEND.encode(), len(body))
    return request(get(b"/v1/backend/stats", fields) + body)


INPUTS = {
    "marks in requests": numbered(requests_with_marks(), request),
    "marks in fields": {
        **{name.decode(): request(get(b"/phone/", name + b": " + marks(30_000) + b"\r\n")) for name in FIELDS},
        **{f"{name.decode()} of a handshake": request(upgrade(name, marks(30_000))) for name in HANDSHAKE},
        "X-Forwarded-For of a proxy": request(get(fields=b"X-Forwarded-For: %s\r\n" % marks(30_000)), PROXY),
        "addresses of a proxy": request(get(fields=b"X-Forwarded-For: %s\r\n" % (b"192.0.2.1," * 3_000)), PROXY)},
    "marks before a session": {
        **numbered(member_by_member(marks, 39_000), frame),
        "name of a user": frame(opening(b"", token("mallory", name=marks(3_500).decode()).encode()))},
    "escaped marks before a session": numbered(member_by_member(escaped, 39_000), frame),
    "marks in a session": numbered(in_requests(marks), in_session),
    "escaped marks in a session": numbered(in_requests(escaped), in_session),
    "requests of many parts": numbered(requests_with_many_parts(), request),
    "bodies of a backend": numbered(bodies_of_a_backend(), by_backend),
    "frames of many parts": {
        **numbered(structures(40_000), frame),
        "fragments": frame(b"\x01\x81\0\0\0\0a" + b"\x00\x81\0\0\0\0a" * 3_000, is_raw=True),
        "empty fragments": frame(b"\x01\x80\0\0\0\0" + b"\x00\x80\0\0\0\0" * 3_000, is_raw=True),
        "pings": frame(b"\x89\x80\0\0\0\0" * 3_000, is_raw=True),
        "dots in a token": frame(opening(b"", b"." * 16_000))},
    "frames of many parts in a session": {
        **numbered(structures(64_000), in_session),
        "equal callees": in_session(rpc(b"call.invite", b'"call_id":"@CALL@","to":[%s"a"]' % (b'"a",' * 6_000))),
        "different callees": in_session(rpc(b"call.invite", b'"call_id":"@CALL@","to":[%s"a"]' % b"".join(
            b'"a%d",' % number for number in range(999)))),
        "push tokens": in_session(rpc(b"device.update", b'"push":[%s{}]' % (b"{}," * 20_000)))},
    "candidates": {
        f"{kind}, {state}": candidates(kind, state)
        for kind in ("equal", "different") for state in ("ringing", "answered", "away")},
}


async def inputs():
    """Marks, empty lines, candidates, deep JSON: inputs that could cost much more than their length."""
    server = made("inputs", **{"listen.proxies": PROXY})
    tokens_file = server.data / "backend-tokens"
    tokens_file.touch(0o600)
    tokens_file.write_text(f"drill read * {hashlib.sha256(BACKEND.encode()).hexdigest()}\n")
    await asyncio.to_thread(server.start)
    calls = Calls(server)
    await calls.open()
    await each(calls, "inputs", INPUTS)
    calls.check()


# Answers with numbers out of any range


NUMBERS = [
    "-9223372036854775808", "9223372036854775807", "9223372036854775808", "18446744073709551615", "-1", "+5", "-0",
    "1e99", "0x10", "", "5 5", "9" * 4_000]
CHUNKS = ["7FFFFFFFFFFFFFFF", "8000000000000000", "FFFFFFFFFFFFFFFF", "-8000000000000000", "FFFFFFFF"]


def response(body=b"", status="200 OK", fields="", length=None):
    length = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {length}\r\n{fields}\r\n".encode() + body


def hostile(body):
    """Answers, and whether the connection stays open behind each."""
    for number in NUMBERS:
        for field in ("Keep-Alive: timeout={0}", "Keep-Alive: timeout=5, max={0}", "Cache-Control: max-age={0}",
                      "Cache-Control: s-maxage={0}, max-age=5\r\nAge: {0}"):
            yield response(body, fields=field.format(number) + "\r\n"), True
        for status in ("429 Too Many Requests", "503 Service Unavailable"):
            yield response(status=status, fields=f"Retry-After: {number}\r\n"), True
        yield response(body, status=f"{number} OK"), False
        yield response(body, length=number), False
        yield response(body, length=f"{len(body)}\r\nContent-Length: {number}"), False
        yield f"HTTP/{number}.1 200 OK\r\n\r\n".encode() + body, False
    tiny = b"".join(b"1\r\n%c\r\n" % byte for byte in b" " * 60_000 + body)
    yield b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + tiny + b"0\r\n\r\n", False
    for length in NUMBERS + CHUNKS:
        chunked = f"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{length}\r\n"
        yield chunked.encode() + body + b"\r\n0\r\n\r\n", False


class Peer:
    """A server for the server under attack. `answer` gets the path and the body of a request, and returns the response
    and whether the connection stays open."""

    async def begin(self):
        self.listener = await asyncio.start_server(self.serve, "127.0.0.1", 0, backlog=1024)
        self.url = f"http://127.0.0.1:{self.listener.sockets[0].getsockname()[1]}"
        return self

    async def serve(self, reader, writer):
        try:
            keeps = True
            while keeps:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                body = await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0] or 0))
                text, keeps = await self.answer(head.split()[1], body)
                writer.write(text)
                await writer.drain()
        # asyncio tells of a cancelled one as of a fault.
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def settings(self):
        """The settings of a server that asks for authorization, and sends events."""
        secret = "whsec_" + base64.b64encode(os.urandom(32)).decode()
        for name, text in [
                ("authorize-secret", f"{secret}\n"),
                ("webhooks.yaml", f"- name: drill\n  url: {self.url}/events\n  secrets: [{secret}]\n")]:
            path = FOLDER / name
            path.touch(0o600)
            path.write_text(text)
        return {"authorize.url": f"{self.url}/hook", "authorize.secret_file": FOLDER / "authorize-secret",
                "authorize.timeout_ms": round(min(5000, 800 * ROOM)), "webhooks.file": FOLDER / "webhooks.yaml"}


def large_sets():
    """Key sets of 60 kB."""
    # Any 32 bytes are a key of Ed25519.
    keys = [b'{"kty":"OKP","crv":"Ed25519","x":"%s"}' % base64url(os.urandom(32)) for _ in range(760)]
    for listed in (keys, [b"{}"] * 20_000):
        yield response(b'{"keys":[%s]}' % b",".join(listed)), True
    yield response(b"-----BEGIN X-----\n-----END X-----\n" * 1_750), True


class HostilePeer(Peer):
    """Serves a key set, takes events and authorizes invites, with each hostile answer so often."""

    # The public key of RFC 8037, appendix A.2.
    KEYS = (b'{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"drill","use":"sig",'
            b'"x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwAaaPcHURo"}]}')
    ALLOWED = b'{"allow":true}'

    def __init__(self, rounds):
        decisions = [
            (response(f'{{"allow":true,"{name}":{number}}}'.encode()), True)
            for name in ("ttl", "ring_ms") for number in NUMBERS + ["1e400", "-1.5"]]
        self.left = {
            path: collections.deque(answers * rounds) for path, answers in [
                ("/keys", list(hostile(self.KEYS)) + list(large_sets())), ("/events", list(hostile(b""))),
                ("/hook", list(hostile(self.ALLOWED)) + decisions)]}
        self.given = collections.Counter()

    async def answer(self, path, body):
        self.given[path] += 1
        # A good answer between two: otherwise the circuit breaker would open, and no more questions would come.
        is_good = path != "/keys" and self.given[path] % 2 == 0
        is_ordinary = path == "/hook" and json.loads(body)["caller"] == "caller"
        if not self.left[path] or is_good or is_ordinary:
            return response({"/keys": self.KEYS, "/hook": self.ALLOWED}.get(path, b"")), True
        return self.left[path].popleft()


async def answers():
    """A key set, a receiver of events and an authorization hook whose answers have numbers out of any range."""
    peer = await HostilePeer(count(1)).begin()
    given = {path: len(left) for path, left in peer.left.items()}
    # The first answer comes at the start.
    server = await started("answers", **{
        "tokens.jwks_url": f"{peer.url}/keys", "tokens.issuer": "https://id.example.com/", "tokens.audience": "drill",
        "authorize.on_failure": "allow", **peer.settings()})
    calls = Calls(server)
    await calls.open()
    await calls.during(f"{given['/keys']} answers with keys", fetch_keys(server, peer))
    await calls.during(
        f"{given['/events']} answers to events, {given['/hook']} to questions", ask_and_tell(server, peer))
    calls.check()


async def fetch_keys(server, peer):
    """Reloads the server, which fetches the keys, until it has had each answer."""
    while peer.left["/keys"]:
        before, deadline = peer.given["/keys"], time.monotonic() + 10 * ROOM
        server.process.send_signal(signal.SIGHUP)
        while peer.given["/keys"] == before:
            expect(time.monotonic() < deadline, "a reload does not fetch the keys")
            await asyncio.sleep(0.01)
    return {"answers": peer.given["/keys"]}


async def ask_and_tell(server, peer):
    """Calls by one new user after another, until the receiver and the hook have given each answer. A user whose events
    wait as `Retry-After` asks, or whose answer is cached, calls no more."""
    deadline, counted = time.monotonic() + (60 + 0.2 * sum(map(len, peer.left.values()))) * ROOM, collections.Counter()
    while peer.left["/events"] or peer.left["/hook"]:
        left = {path: len(answers) for path, answers in peer.left.items()}
        expect(time.monotonic() < deadline, f"answers are left: {left}")
        phone = Phone(f"teller{next(USERS)}")
        try:
            await phone.open(server.port)
            await phone.request("call.invite", call_id=str(uuid.uuid4()), to=f"nobody-{phone.user}")
            counted["allowed"] += 1
        except Refused as refused:
            counted[refused.code] += 1
            await asyncio.sleep(refused.data.get("retry_after_ms", 0) / 1000)
        except Gone:
            # The server's end fails the drill with the next ordinary call.
            await asyncio.sleep(0.1)
        finally:
            phone.cut()
    return counted


# One user at each limit


class Backend(Peer):
    """Authorizes invites and takes events. Its answers depend on the callee, and on the caller."""

    def __init__(self):
        # By call, when the receiver was told of it.
        self.told = {}
        # Whether the receiver refuses all events.
        self.refuses = False
        # Questions are handled one after the other.
        self.thread = asyncio.Lock()

    async def answer(self, path, body):
        message = json.loads(body)
        if path == "/events":
            if self.refuses:
                return response(status="503 Service Unavailable"), True
            data = message["data"]
            match data.get("call", {}).get("from", "").split("-"):
                case ["mallory", "events", *_]:
                    return response(status="500 Internal Server Error"), True
                case ["mallory", "gone", *_]:
                    return response(status="410 Gone"), True
                case ["mallory", "paused", *_]:
                    return response(status="503 Service Unavailable", fields="Retry-After: 3600\r\n"), True
                case ["mallory", "unanswered", *_]:
                    await asyncio.sleep(30)
            if message["type"] == "call.invited":
                self.told[data["call"]["call_id"]] = time.monotonic()
            return response(), True
        async with self.thread:
            if message["to"] == "slow":
                await asyncio.sleep(0.02)
        match message["to"]:
            case "refused":
                return response(status="403 Forbidden"), True
            case "broken":
                return response(status="500 Internal Server Error"), True
            case "silent":
                await asyncio.sleep(30)
        return response(b'{"allow":true}'), True

    async def longest_delay(self, calls):
        """The longest time from an ordinary invite to its event."""
        deadline = time.monotonic() + LONGEST
        while not self.told.keys() >= calls.accepted.keys() and time.monotonic() < deadline:
            await asyncio.sleep(0.02)
        return max(self.told.get(call, time.monotonic()) - at for call, at in calls.accepted.items())


class Sleeper:
    """A phone without a session. It reports each push, and declines the call."""

    def __init__(self, server, push, user="sleeper"):
        self.server, self.push, self.user = server, push, user
        # By call. delay: from the last invite to its push, in seconds.
        self.waiting, self.delay = {}, 0

    async def on_push(self, _, __, payload):
        # FCM's has the members in `data`.
        payload = payload.get("data", payload)
        call = payload["uuid"]
        if call in self.waiting:
            self.waiting.pop(call).set_result(time.monotonic())
        for path, body in [(f"/v1/pushes/{payload['push_id']}/report", {"call_id": call, "result": "reported"}),
                           (f"/v1/calls/{call}/decline", {})]:
            try:
                await asyncio.to_thread(fetch, self.server.http + path, payload["wake_token"], "POST", body)
            except OSError as error:
                expect(False, f"a woken phone cannot act: {path}: {error}")

    async def wake(self, seconds):
        """One call in the middle of the attack, by another caller each time: a pair has few pushes."""
        await asyncio.sleep(seconds / 2)
        call, began = str(uuid.uuid4()), time.monotonic()
        woken = self.waiting[call] = asyncio.get_running_loop().create_future()
        friend = Phone(f"friend{next(USERS)}")
        try:
            await friend.open(self.server.port)
            await placed(friend, call, self.user)
            await asyncio.wait([woken], timeout=LATEST_REPLY)
            self.delay = (woken.result() if woken.done() else time.monotonic()) - began
        except (Gone, Refused, OSError, asyncio.TimeoutError) as error:
            expect(False, f"{self.user} cannot be called: {type(error).__name__} {error}")
        finally:
            friend.cut()


async def register(server, user, push, provider=None):
    """Registers a device of the user, and ends its session."""
    phone = Phone(user, push={"environment": "production", "token": push, **(provider or APNS)})
    await phone.open(server.port)
    await phone.request("session.close")


def simulated(simulator, number, provider=None):
    """Push tokens of so many phones of the simulator."""
    bodies = [{"name": f"stranger{n}", **(provider or APNS)} for n in range(number)]
    text, found, place = posted(simulator, "phones", bodies), [], 0
    while place < len(text):
        answer, place = json.JSONDecoder().raw_decode(text, place)
        found.append(answer["token"])
        place += len(text[place:]) - len(text[place:].lstrip())
    return found


def posted(simulator, path, bodies):
    """Sends the bodies to the simulator by one curl. Returns its answers."""
    options = ["-sSf", "--http2", "--cacert", simulator.authority, f"{simulator.api}/{path}", "-d"]
    words = [word for body in bodies for word in ("--next", *options, json.dumps(body))]
    return subprocess.run(
        ["curl", "--fail-early", *words[1:]], capture_output=True, text=True, check=True).stdout.strip()


APNS = {"provider": "apns", "kind": "voip", "topic": TOPIC}
FCM = {"provider": "fcm", "kind": "data", "topic": "reveille-phone"}
STRANGERS = 100


def flood(user, message, number=20):
    """Sends so many requests at a time, whose method and parameters `message` makes, and waits until they are
    handled."""

    async def attack(port, end, counted, state):
        phone = await opened(state, port, f"mallory-{user}")
        for _ in range(number):
            method, params = message()
            phone.number += 1
            phone.send({"id": phone.number, "method": method, "params": params})
        await phone.socket.writer.drain()
        await phone.request("session.state", app="foreground")
        counted["handled"] += number

    return attack


def invite(callees, **members):
    """An invite to the callees that the function returns."""
    return lambda: ("call.invite", {"call_id": str(uuid.uuid4()), "to": callees(), **members})


async def open_sessions(port, end, counted, state):
    phone = Phone("mallory-sessions")
    try:
        await phone.open(port)
        return "opened"
    finally:
        phone.cut()


DEVICES = [str(uuid.uuid4()) for _ in range(5)]


async def open_with_tokens(port, end, counted, state):
    """One of a few devices, each time with other push tokens, as long as they may be."""
    phone = Phone("mallory-tokens", push=[{
        "provider": "apns", "kind": "voip", "environment": "production", "topic": TOPIC,
        "token": f"{random.getrandbits(2_048):0512x}"} for _ in range(8)])
    phone.device = random.choice(DEVICES)
    try:
        await phone.open(port)
        return "opened"
    finally:
        phone.cut()


def over_http(path, bearer=None):
    """Sends requests on a connection from one address until it is closed."""
    fields = b"Authorization: Bearer %s\r\n" % bearer.encode() if bearer else b""

    async def attack(port, end, counted, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(PROXY, 0))
        try:
            writer.write(b"PROXY TCP4 203.0.113.7 127.0.0.1 4000 %d\r\n" % port)
            while time.monotonic() < end:
                writer.write(get(path, fields))
                head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode().lower()
                counted[head.split()[1]] += 1
                await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0] or 0))
        finally:
            writer.transport.abort()

    return attack


def without_body(bearer=None):
    """Sends a request of a call whose body never comes: the refusal closes the connection."""
    fields = b"Authorization: Bearer %s\r\n" % bearer.encode() if bearer else b""

    async def attack(port, end, counted, state):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(PROXY, 0))
        try:
            writer.write(b"PROXY TCP4 203.0.113.7 127.0.0.1 4000 %d\r\n" % port)
            writer.write(b"POST /v1/calls/6ba7b810-9dad-41d1-80b4-00c04fd430c8/answer HTTP/1.1\r\nHost: drill\r\n"
                         b"%sContent-Length: 9\r\n\r\n" % fields)
            return (await asyncio.wait_for(reader.readuntil(b"\r\n"), PATIENCE)).decode().split()[1]
        finally:
            writer.transport.abort()

    return attack


SHARES = {
    "one user's calls": {
        "to handles that nobody has": flood("unknown", invite(
            lambda: [f"{random.getrandbits(80):020x}" for _ in range(950)])),
        "to lists of strangers": flood("lists", invite(
            lambda: [f"stranger{number}" for number in random.sample(range(STRANGERS), 10)])),
        "to one who is called by others": flood("ringing", invite(lambda: "callee", sdp="s" * 30_000)),
        "whose events are refused": flood("events", invite(lambda: f"nobody{random.getrandbits(40)}")),
        "whose events are gone": flood("gone", invite(lambda: f"nobody{random.getrandbits(40)}")),
        "with large content": flood("content", invite(lambda: "nobody", sdp="s" * 30_000, custom="c" * 16_000))},
    "one user's calls at the hook": {
        callee: flood(callee, invite(lambda callee=callee: callee)) for callee in ("refused", "broken", "silent", "slow")},
    "one user's requests": {
        "device.update": flood("updates", lambda: ("device.update", {"push": [
            {"provider": "apns", "kind": "voip", "environment": "production", "topic": TOPIC,
             "token": f"{random.getrandbits(256):064x}"}]})),
        "call.list": flood("pages", lambda: ("call.list", {})),
        "call.get": flood("look-ups", lambda: ("call.get", {"call_id": str(uuid.uuid4())})),
        "session.open": open_sessions, "session.open with push tokens": open_with_tokens},
    "requests over HTTP": {
        "with a token": over_http(b"/v1/calls/6ba7b810-9dad-41d1-80b4-00c04fd430c8", token("mallory-http")),
        "with bad tokens": over_http(b"/v1/turn", token("mallory-http", b"guessed")),
        "of a call without a token": without_body(),
        "of a call with a bad wake token": without_body("wake1." + "A" * 7_000),
        "health": over_http(b"/healthz"), "readiness": over_http(b"/readyz"), "home": over_http(b"/homez"),
        "of a backend without a token": over_http(b"/v1/backend/calls"),
        "of a backend with another's": over_http(b"/v1/backend/calls", "guessed-by-somebody-who-has-none")},
}


async def shares():
    """One user at each limit of what users share, and accounts for whom it fails: others' calls come in time."""
    backend = await Backend().begin()
    server = made("shares", **{
        "listen.proxies": PROXY, "listen.proxy_protocol": "true", "push.simulator": "true",
        # Fewer than by default, so that a flood reaches the limit soon.
        "limits.requests_per_address": 600, **backend.settings()})
    simulator, attached = Simulator(server.data), None
    try:
        await asyncio.to_thread(server.start)
        calls, sleeper = Calls(server), Sleeper(server, simulator.register("sleeper"))
        await register(server, "sleeper", sleeper.push)
        for number, push in enumerate(simulated(simulator, STRANGERS)):
            await register(server, f"stranger{number}", push)
        attached = asyncio.create_task(simulator.attach(sleeper, sleeper.on_push))
        await calls.open()
        pushes, began = metric(server, "reveille_pushes_intended_total"), time.monotonic()

        async def also():
            return {"event": await backend.longest_delay(calls), "push": sleeper.delay}

        await each(calls, "shares", SHARES, sleeper.wake, also)
        pushes = metric(server, "reveille_pushes_intended_total") - pushes
        # `limits.pushing_calls_per_caller` in 30 s for the lists, and one push beside each attack.
        allowed = 60 + 2 * (time.monotonic() - began) + sum(map(len, SHARES.values()))
        print(f"  {pushes:.0f} pushes, allowed are {allowed:.0f}")
        expect(pushes <= allowed, f"{pushes:.0f} pushes, allowed are {allowed:.0f}")
        calls.check()
    finally:
        await simulator.detach([attached] if attached else [])
        simulator.stop()
    for policy in ("deny", "allow"):
        await several(backend, policy)
    if count(2) >= ALONE:
        await after_outage(backend)
    await push_services(backend)
    await key_updates()


# A few accounts for whom what users share fails


def by_accounts(number, user, callee):
    """Calls by so many accounts at the same time, from each 5 at a time."""
    accounts = [flood(f"{user}-{number}-{account}", invite(callee), 5) for account in range(number)]

    async def attack(port, end, counted, state):
        await asyncio.gather(*[repeated(account, port, end, counted) for account in accounts])

    return attack


def to_accounts(number, kind):
    """Calls to the sleeping phones of so many accounts."""

    async def attack(port, end, counted, state):
        return await called(port, owner(kind, number, random.randrange(number)))

    return attack


def owner(kind, number, account):
    return f"owner-{kind}-{number}-{account}"


async def called(port, callee):
    """Each pair has few pushes, each caller too: another one each time."""
    caller = Phone(f"friend-{uuid.uuid4()}")
    try:
        await caller.open(port)
        await caller.request("call.invite", call_id=str(uuid.uuid4()), to=callee)
        return "called"
    finally:
        caller.cut()


# By kind: what each provider does with the pushes to the accounts' devices.
FAULTS = {
    "throttled": [
        {"provider": "apns", "fault": "refuse", "reason": "TooManyRequests"},
        {"provider": "fcm", "fault": "refuse", "reason": "QUOTA_EXCEEDED", "retry_after_s": 60},
        {"provider": "webpush", "fault": "refuse", "reason": "too_many_requests", "retry_after_s": 60}],
    "refused": [
        {"provider": "apns", "fault": "refuse", "reason": "BadDeviceToken"},
        {"provider": "fcm", "fault": "refuse", "reason": "SENDER_ID_MISMATCH"},
        {"provider": "webpush", "fault": "refuse", "reason": "bad_token"}],
    "failed": [
        {"provider": "apns", "fault": "refuse", "reason": "InternalServerError"},
        {"provider": "fcm", "fault": "refuse", "reason": "UNAVAILABLE", "retry_after_s": 60},
        {"provider": "webpush", "fault": "refuse", "reason": "unavailable", "retry_after_s": 60}],
    "unanswered": [{"provider": provider, "fault": "no_answer"} for provider in ("apns", "fcm", "webpush")],
}
ACCOUNTS = (3, 12)
AT_THE_HOOK = {
    f"{number} accounts' calls at the hook": {
        callee: by_accounts(number, callee, lambda callee=callee: callee)
        for callee in ("broken", "silent")} for number in ACCOUNTS}
SEVERAL = {
    **AT_THE_HOOK,
    **{f"{number} accounts' events": {
        kind: by_accounts(number, kind, lambda: f"nobody{random.getrandbits(40)}")
        for kind in ("events", "gone", "paused", "unanswered")} for number in ACCOUNTS},
    **{f"{number} accounts' pushes": {kind: to_accounts(number, kind) for kind in FAULTS} for number in ACCOUNTS},
}


class Denied:
    """A phone whose calls the hook refuses."""

    def __init__(self, faults):
        self.faults, self.phone = faults, Phone("denied")
        # The longest time from an invite to its refusal, in seconds.
        self.delay = 0

    async def call(self, seconds):
        self.delay, end = 0, time.monotonic() + seconds
        while time.monotonic() < end:
            began, code = time.monotonic(), "allowed"
            try:
                await placed(self.phone, str(uuid.uuid4()), "refused")
            except Refused as refused:
                code = refused.code
            self.delay = max(self.delay, time.monotonic() - began)
            if code != "forbidden":
                self.faults.append(f"a call that the hook refuses is {code}")
            await asyncio.sleep(PAUSE)


async def several(backend, policy):
    """A few accounts for whom the hook, the receiver or the push services fail, which are well for all others."""
    server = made(f"several-{policy}", **{
        "push.simulator": "true", "authorize.on_failure": policy, **backend.settings()})
    simulator, attachments = Simulator(server.data), []
    try:
        await asyncio.to_thread(server.start)
        calls = Calls(server)
        denied = Denied(calls.faults)
        await calls.open()
        await denied.phone.open(server.port)
        web = {"provider": "webpush", "kind": "data", "topic": denied.phone.opened["webpush"]["key"]}
        sleepers = []
        for provider in (APNS, FCM, web):
            await register_owners(server, simulator, provider)
            [push] = simulated(simulator, 1, provider)
            sleepers.append(Sleeper(server, push, f"sleeper-{provider['provider']}"))
            await register(server, sleepers[-1].user, push, provider)
        attachments += [
            asyncio.create_task(simulator.attach(sleeper, sleeper.on_push)) for sleeper in sleepers]

        async def beside(seconds):
            await asyncio.gather(denied.call(seconds), *[sleeper.wake(seconds) for sleeper in sleepers])

        async def also():
            return {"event": await backend.longest_delay(calls), "denied": denied.delay,
                    **{sleeper.user: sleeper.delay for sleeper in sleepers}}

        await each(calls, "several", SEVERAL if policy == "deny" else AT_THE_HOOK, beside, also)
        calls.check()
    finally:
        await simulator.detach(attachments)
        simulator.stop()


async def register_owners(server, simulator, provider):
    """Registers a device of each account, for whose pushes the provider fails."""
    for kind, faults in FAULTS.items():
        [fault] = [fault for fault in faults if fault["provider"] == provider["provider"]]
        owners = [owner(kind, number, account) for number in ACCOUNTS for account in range(number)]
        pushes = simulated(simulator, len(owners), provider)
        posted(simulator, "faults", [{**fault, "token": push} for push in pushes])
        for user, push in zip(owners, pushes):
            await register(server, user, push, provider)


# A point of P-256, its generator: what a browser's key is.
POINT = bytes.fromhex(
    "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c296"
    "4fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5")
PUSH_SERVICES = "push.invalid"


async def made_up(port, end, counted, state):
    """Registers subscriptions at push services that do not exist, and calls their owner."""
    owner = await opened(state, port, "mallory-services")
    await owner.request("device.update", push=[{
        "provider": "webpush", "kind": "data", "environment": "production", "topic": owner.opened["webpush"]["key"],
        "token": f"https://{uuid.uuid4()}.{PUSH_SERVICES}/{number}#p256dh={base64url(POINT).decode()}"
                 f"&auth={base64url(os.urandom(16)).decode()}"} for number in range(8)])
    await owner.request("session.close")
    await asyncio.wait_for(owner.closed, PATIENCE)
    return await called(port, owner.user)


SERVICES = {"one user's push services": {"made up": made_up}}


async def push_services(backend):
    server = await started("services", **{
        "push.webpush.subject": "mailto:drill@example.org", "push.webpush.hosts": f"'*.{PUSH_SERVICES}'",
        **backend.settings()})
    calls = Calls(server)
    await calls.open()

    async def also():
        return {"event": await backend.longest_delay(calls)}

    await each(calls, "services", SERVICES, also=also)
    calls.check()


# In seconds: an outage, and the time in which everybody recovers from it.
OUTAGE, RECOVERY = 8, 20


async def after_outage(backend):
    """The receiver refuses all events for a while, and then does not answer those of a few accounts."""
    server = await started("outage", **backend.settings())
    calls = Calls(server)
    await calls.open()
    for number in ACCOUNTS:
        group = f"{number} accounts' events"

        def attack(seconds):
            return attacker("several", server.port, CONNECTIONS, seconds, group, "unanswered")

        backend.refuses = True
        try:
            await calls.during(f"{group} in an outage", report(await attack(OUTAGE)))
        finally:
            backend.refuses = False
        late = dict(calls.accepted)
        await asyncio.sleep(RECOVERY)
        missing = len(late.keys() - backend.told.keys())
        if missing:
            calls.faults.append(f"{missing} of {len(late)} calls of the outage were not told {RECOVERY} s after it")

        async def also():
            return {"event": await backend.longest_delay(calls)}

        await calls.during(f"{group} after an outage", report(await attack(OUTAGE)), also)
    calls.check()


# More than a server answers that bounds them.
MOST_UPDATES = 1_000


async def update_keys(port, end, counted, state):
    """Asks for new keys until the server closes the connection."""
    client = await asyncio.create_subprocess_exec(
        "openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-tls1_3", stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE)
    updates = 0
    try:
        while updates < MOST_UPDATES:
            # s_client reads a command at a time, and then says so.
            client.stdin.write(b"K\n")
            while (line := await asyncio.wait_for(client.stderr.readline(), PATIENCE)) not in (b"KEYUPDATE\n", b""):
                pass
            if not line:
                break
            updates += 1
        await asyncio.wait_for(client.wait(), PATIENCE)
    except asyncio.TimeoutError:
        expect(False, f"the connection is open after {updates} key updates")
    finally:
        if client.returncode is None:
            client.kill()
            await client.wait()
        client.stdin.close()
        with contextlib.suppress(OSError):
            await client.stdin.wait_closed()
    expect(updates, "s_client sent no key update")
    return "closed"


UPDATES = {"one connection's TLS records": {"key updates": update_keys}}


async def key_updates():
    server = await started("updates", **certificate())
    calls = Calls(server, tls=trusting())
    await calls.open()
    await each(calls, "updates", UPDATES)
    calls.check()


DRILLS = {"inputs": inputs, "answers": answers, "shares": shares}

main(DRILLS, {
    "inputs": attacks_of(INPUTS), "shares": attacks_of(SHARES), "several": attacks_of(SEVERAL),
    "services": attacks_of(SERVICES), "updates": attacks_of(UPDATES)})
