"""Network drills: many clients at once, slow and silent clients, floods. The first argument names one of DRILLS.

Other phones place normal calls during each attack, and none of these may fail. The drill prints their latency from the
invite to its reply, the server's memory and its open files. COUNT is the number of clients. The article Contribute
describes DRILL_MEMORY, DRILL_SECONDS and DRILL_SEED.
"""

import asyncio
import collections
import functools
import json
import os
import random
import re
import signal
import ssl
import subprocess
import sys
import time
import uuid

from common import ROOM, count, expect
from network_common import (
    LATEST_REPLY, PROXY, UPGRADE, Gone, Phone, Refused, Socket, attacker, certificate, files, main, memory, metric,
    report, started, token, trusting)
from ports import free_port


class Pair:
    """A caller and a callee, who declines each call."""

    def __init__(self, number, name="normal"):
        self.ended = {}
        self.caller, self.callee = Phone(f"{name}{number}a", self.at_caller), Phone(f"{name}{number}b", self.at_callee)

    async def open(self, port, **options):
        await self.callee.open(port, **options)
        await self.caller.open(port, **options)

    def at_caller(self, method, params):
        if method == "call.ended" and params["call_id"] in self.ended:
            self.ended[params["call_id"]].set_result(params["reason"])

    def at_callee(self, method, params):
        if method == "call.incoming":
            self.callee.number += 1
            decline = {"method": "call.decline", "params": {"call_id": params["call_id"]}}
            self.callee.send({"id": self.callee.number, **decline})

    async def call(self):
        """One call. Returns the seconds from the invite to its reply."""
        call, began = str(uuid.uuid4()), time.monotonic()
        self.ended[call] = asyncio.get_running_loop().create_future()
        await self.caller.invite(call_id=call, to=self.callee.user, sdp="v=0" * 200)
        replied = time.monotonic() - began
        reason = await asyncio.wait_for(self.ended[call], LATEST_REPLY)
        del self.ended[call]
        expect(reason == "declined", f"a call ended as {reason}")
        return replied


class Traffic:
    """Normal calls at random times, ten a second, and the memory and files of the server meanwhile."""

    def __init__(self, server, pairs=10, **options):
        self.server, self.options = server, options
        self.pairs = [Pair(number) for number in range(pairs)]
        self.latencies, self.failed, self.tasks = [], collections.Counter(), set()

    async def open(self):
        for pair in self.pairs:
            await pair.open(self.server.port, **self.options)

    async def place(self):
        try:
            self.latencies.append(await random.choice(self.pairs).call())
        except (Gone, Refused, OSError, asyncio.TimeoutError) as error:
            self.failed[f"{type(error).__name__} {error}"] += 1

    async def during(self, name, work):
        """Places calls until `work` has ended. Prints the figures of the phase. Returns the work's result."""
        self.latencies, self.failed = [], collections.Counter()
        with open(f"/proc/{self.server.process.pid}/clear_refs", "w") as peak:
            peak.write("5")
        task = asyncio.ensure_future(work)
        while not task.done():
            call = asyncio.create_task(self.place())
            self.tasks.add(call)
            call.add_done_callback(self.tasks.discard)
            await asyncio.sleep(random.expovariate(10))
        await asyncio.gather(*self.tasks)
        times = sorted(self.latencies) or [0]
        kept, most = memory(self.server)
        print(f"  {name:34} {len(times):5} calls, {sum(self.failed.values())} failed, p50 "
              f"{times[len(times) // 2] * 1000:6.1f} ms, p99 {times[len(times) * 99 // 100] * 1000:7.1f} ms, memory "
              f"{kept:4.0f} MiB, at most {most:4.0f}, files {files(self.server)}", flush=True)
        expect(not self.failed, f"normal calls failed during {name}: {self.failed.most_common(3)}")
        return task.result()


async def files_back(server, before, seconds=30):
    """Waits until the server has closed the files of the attack. The number may differ by files of its threads."""
    deadline = time.monotonic() + seconds
    while (now := files(server)) > before + 2:
        expect(time.monotonic() < deadline, f"{now} open files, {before} before")
        await asyncio.sleep(0.1)


# Many clients reconnect at once


async def reconnect():
    """All clients reconnect at once: after a cut of all connections, SIGTERM, and kill -9. Live calls continue."""
    sessions, bound = count(400), float(os.environ.get("DRILL_SECONDS") or 0)
    bound = bound or (5 + sessions / 250) * ROOM
    server = await started("reconnect")
    with_calls = max(2, sessions // 20)
    updates = collections.Counter()

    def on_event(method, params):
        if method == "call.update":
            updates[params["call_id"]] += 1

    phones = [Phone(f"user{number}", on_event) for number in range(sessions)]
    await back(server, phones, bound, "first")
    calls = {}
    for caller, callee in zip(phones[0:2 * with_calls:2], phones[1:2 * with_calls:2]):
        call = calls[caller] = calls[callee] = str(uuid.uuid4())
        await caller.invite(call_id=call, to=callee.user, sdp="v=0")
        await callee.request("call.answer", call_id=call, sdp="v=0")
        for phone in (caller, callee):
            await phone.request("call.connected", call_id=call)
    for name in ("cut", "SIGTERM", "kill -9"):
        if name == "cut":
            for phone in phones:
                phone.cut()
        else:
            await asyncio.to_thread(server.end, signal.SIGTERM if name == "SIGTERM" else signal.SIGKILL)
        await asyncio.gather(*[phone.reader for phone in phones])
        if name != "cut":
            await asyncio.to_thread(server.start)
        await back(server, phones, bound, name)
        lost = [phone.user for phone in phones if phone.is_resumed != (name == "cut")]
        expect(not lost, f"after {name} {len(lost)} sessions are not as they should be: {lost[:5]}")
        gone = [call for phone, call in calls.items() if phone.calls.get(call, {}).get("state") != "connected"]
        expect(not gone, f"after {name} {len(gone)} of {len(calls)} parties have lost their call: {gone[:3]}")
        updates.clear()
        for phone, call in calls.items():
            await phone.request("call.update", call_id=call, kind="info")
        deadline = time.monotonic() + 10
        while sum(updates.values()) < len(calls):
            expect(time.monotonic() < deadline, f"after {name} {sum(updates.values())} of {len(calls)} updates arrived")
            await asyncio.sleep(0.05)
    live = await asyncio.to_thread(server.show, "calls", "list", "--live", "--limit", "100000")
    expect(len(live["calls"]) == with_calls, f"{len(live['calls'])} live calls, not {with_calls}")
    server.stop()
    # More devices of a user than may open sessions at once: the others wait for `retry_after_ms`, one a second.
    server = await started("limited", **{"limits.opens_per_user": 60, "limits.devices_per_user": 100})
    phones = [Phone(f"user{number % 3}") for number in range(3 * 64)]
    refused = await back(server, phones, 10 * ROOM, "limited")
    expect(0 < refused["rate_limited"] < 2 * len(phones), f"refused: {refused}")
    server.stop()


async def back(server, phones, bound, name):
    """Opens all sessions at once. A refused phone retries after `retry_after_ms`. Returns the refusals by reason."""
    refused, began, times = collections.Counter(), time.monotonic(), []

    async def come(phone):
        while True:
            try:
                await phone.open(server.port)
                return times.append(time.monotonic() - began)
            except Refused as error:
                refused[error.code] += 1
                expect("retry_after_ms" in error.data, f"refused without retry_after_ms: {error}")
                phone.cut()
                await asyncio.sleep(error.data["retry_after_ms"] / 1000)
            except (Gone, OSError, asyncio.TimeoutError) as error:
                refused[type(error).__name__] += 1
                phone.cut()
                await asyncio.sleep(random.uniform(0.1, 0.3))

    with open(f"/proc/{server.process.pid}/clear_refs", "w") as peak:
        peak.write("5")
    try:
        await asyncio.wait_for(asyncio.gather(*map(come, phones)), bound)
    except asyncio.TimeoutError:
        expect(False, f"{name}: {len(times)} of {len(phones)} are back after {bound} s; refused: {dict(refused)}")
    kept, most = memory(server)
    allowed = float(os.environ.get("DRILL_MEMORY") or 150 + len(phones) * 0.06)
    print(f"  {name:8} {len(phones)} sessions in {max(times):5.2f} s, p50 {sorted(times)[len(times) // 2]:5.2f} s, "
          f"refused {dict(refused)}, memory {kept:4.0f} MiB, at most {most:4.0f}", flush=True)
    expect(most < allowed, f"{name}: {most:.0f} MiB of memory, allowed are {allowed:.0f}")
    return refused


# Clients that read nothing


async def slow_readers():
    """Clients stop reading while calls with large SDP arrive. The server closes them; its memory stays bounded."""
    readers = count(30)
    allowed = float(os.environ.get("DRILL_MEMORY") or 30 + readers * 1.3)
    server = await started("slow", **{
        "limits.messages_per_second": 10000, "limits.invites_per_user": 1000000, "limits.messages_per_user": 10000000,
        "limits.live_calls_per_user": 100000, "limits.stored_bytes_per_user": 1 << 36,
        "limits.call_bytes_per_user": 1 << 36, "limits.ringing_pair_bytes": 1 << 26,
        "limits.ringing_callee_bytes": 1 << 26})
    traffic = Traffic(server)
    await traffic.open()
    phones = [Phone(f"slow{number}") for number in range(readers)]
    callers = [Phone(f"caller{number}") for number in range(10)]
    for phone in phones + callers:
        await phone.open(server.port)
    opened = files(server)

    async def one_call(caller, phone):
        call = str(uuid.uuid4())
        await caller.invite(call_id=call, to=phone.user, sdp="s" * 32000, custom="c" * 16000)
        await caller.request("call.hangup", call_id=call)

    async def flood(is_over):
        """Calls each phone again and again, 20 at a time."""
        deadline, rounds = time.monotonic() + 400, 0
        while not is_over(rounds):
            expect(time.monotonic() < deadline, "slow readers are not closed")
            rounds += 1
            for first in range(0, readers, 20):
                await asyncio.gather(*[one_call(callers[n % 10], phone) for n, phone in enumerate(
                    phones[first : first + 20])])
        return rounds

    # First the same calls to phones that read: slow readers do not cause the memory that these need.
    await traffic.during("all read", flood(lambda rounds: rounds >= max(5, 1500 // readers)))
    before, in_kernel = memory(server)[0], kernel_memory(server)
    for phone in phones:
        phone.socket.writer.transport.pause_reading()
    rounds = await traffic.during(
        f"{readers} read nothing", flood(lambda _: metric(server, "reveille_slow_consumers_total") >= readers))
    more, in_kernel = memory(server)[1] - before, kernel_memory(server) - in_kernel
    print(f"  closed after {rounds * 48} kB each; at most {more:.0f} MiB more, allowed are {allowed:.0f}; "
          f"{in_kernel:.0f} MiB more in the kernel's sockets, allowed are {20 + readers}")
    expect(more < allowed, f"{more:.0f} MiB more, allowed are {allowed:.0f}")
    expect(in_kernel < 20 + readers, f"{in_kernel:.0f} MiB more in sockets, allowed are {20 + readers}")
    for phone in phones:
        phone.socket.writer.transport.resume_reading()
    await traffic.during("they read again", asyncio.gather(*[phone.reader for phone in phones]))
    codes = collections.Counter(phone.closed.result() for phone in phones)
    print(f"  close codes: {dict(codes)}")
    expect(set(codes) <= {3001, None}, f"close codes {codes}")
    await files_back(server, opened - readers)
    server.stop()


def kernel_memory(server):
    """The memory in MiB of the server's TCP connections in the kernel, at both ends."""
    port = f":{server.port}"
    listed = subprocess.run(
        ["ss", "-Htnm", f"sport = {port} or dport = {port}"], check=True, capture_output=True, text=True).stdout
    # To receive, to send, allocated in advance, and queued to send.
    found = re.findall(r"skmem:\(r(\d+),rb\d+,t(\d+),tb\d+,f(\d+),w(\d+),", listed)
    expect(found, f"ss shows no connection of the server: {listed[:500]}")
    return sum(int(number) for each in found for number in each) / (1 << 20)


# Peers that vanish


async def half_open():
    """The network between some phones and the server stops forwarding data; no connection is closed."""
    number = count(20)
    server = await started("half-open", **{
        "sessions.resume_seconds": 10, "calls.delivery_seconds": 1, "limits.pushing_calls_per_caller": 1000})
    traffic = Traffic(server)
    await traffic.open()
    wire_port = free_port()
    wire = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "attack", "wire", str(wire_port), str(server.port), "0",
        stdout=asyncio.subprocess.PIPE)
    await wire.stdout.readline()
    started_at, seen = {}, collections.defaultdict(dict)

    def noting(user):
        return lambda method, params: seen[params.get("call_id")].setdefault(
            (user, method, params.get("presence") or params.get("reason") or params.get("state")), time.monotonic())

    def phones(kind):
        return [Phone(f"{kind}{n}", noting(f"{kind}{n}")) for n in range(number)]

    idle, talking, others, silent = phones("idle"), phones("talking"), phones("other"), phones("silent")
    for phone in idle + talking + silent:
        await phone.open(wire_port)
    for phone in others:
        await phone.open(server.port)
    calls = []
    for one, other in zip(others, talking):
        calls.append(str(uuid.uuid4()))
        await one.invite(call_id=calls[-1], to=other.user, sdp="v=0")
        await other.request("call.answer", call_id=calls[-1], sdp="v=0")
        for phone in (one, other):
            await phone.request("call.connected", call_id=calls[-1])
    opened = files(server)
    wire.send_signal(signal.SIGSTOP)
    began = time.monotonic()
    # The server has not detected the loss yet: without a push token the call ends by its ring timeout.
    rung = []
    for one, other in zip(others, silent):
        rung.append(str(uuid.uuid4()))
        started_at[rung[-1]] = time.monotonic()
        await one.invite(call_id=rung[-1], to=other.user)

    async def found():
        limit = 35 + 3 * ROOM
        while (closed := metric(server, "reveille_ping_timeouts_total")) < 3 * number:
            expect(time.monotonic() - began < limit, f"{closed} found in {limit} s")
            await asyncio.sleep(0.1)
        return time.monotonic() - began

    took = await traffic.during(f"{3 * number} peers have vanished", found())
    print(f"  found by ping within {took:.1f} s")
    # The server gives the close frame 5 s to be answered.
    while (states := await asyncio.to_thread(session_states, server, "idle")) != {"away": number}:
        expect(time.monotonic() - began < took + 5 + 2 * ROOM, f"sessions of vanished phones: {states}")
        await asyncio.sleep(0.1)
    print(f"  all sessions wait for their phones after {time.monotonic() - began:.1f} s")
    # Half of the idle phones come back over a working network, and resume.
    for phone in idle[: number // 2]:
        await phone.open(server.port)
    expect(all(phone.is_resumed for phone in idle[: number // 2]), "a phone that came back in time has a new session")
    ends = set()
    while len(ends) < len(calls):
        expect(time.monotonic() - began < 50 + 10 * ROOM, f"{len(ends)} of {len(calls)} calls have ended")
        await asyncio.sleep(0.1)
        ends = {call for call in calls for user, method, _ in seen[call]
                if user.startswith("other") and method == "call.ended"}
    for n, call in enumerate(calls):
        away = seen[call].get((f"other{n}", "call.peer", "away"))
        ended = seen[call].get((f"other{n}", "call.ended", "connection_lost"))
        expect(away and ended, f"the other side was told {list(seen[call])}")
        took = ended - away
        expect(9 < took < 10 + 2 * ROOM, f"the call ended {took:.1f} s after the loss, the window is 10 s")
    for n, call in enumerate(rung):
        ended = seen[call].get((f"other{n}", "call.ended", "ring_timeout"))
        expect(ended, f"a call to a vanished phone: {list(seen[call])}")
        expect(5.5 < ended - started_at[call] < 6 + 2 * ROOM, f"it rang out after {ended - started_at[call]:.1f} s")
    wire.kill()
    await wire.wait()
    await files_back(server, opened - 3 * number + number // 2)
    server.stop()


def session_states(server, kind):
    listed = server.show("sessions", "list", "--limit", "100000")["sessions"]
    return collections.Counter(each["state"] for each in listed if each["user"].rstrip("0123456789") == kind)


# Handshakes that do not end


async def slow_handshakes():
    """Connections that send nothing, or send a TLS ClientHello or an HTTP request byte by byte."""
    plain = await started("slow-plain")
    tls = await started("slow-tls", **certificate())
    await asyncio.gather(slow_handshakes_of("plain", plain), slow_handshakes_of("tls", tls, tls=trusting()))


# The longest time without a request; the server's own limit is 10 s. The attack lasts longer, so that it sees a
# connection that is never closed.
REQUEST_SECONDS, ATTACK_SECONDS = 15, 18


async def slow_handshakes_of(name, server, **options):
    number = count(300)
    traffic = Traffic(server, **options)
    await traffic.open()
    await traffic.during(f"{name}: before", asyncio.sleep(2))
    kept, opened = memory(server)[0], files(server)
    process = await attacker("slow", server.port, number, ATTACK_SECONDS, name)
    counted = await traffic.during(f"{name}: {number} slow handshakes", report(process))
    print(f"  {name}: {counted}")
    allowed = float(os.environ.get("DRILL_MEMORY") or 30 + number * 0.08)
    most = memory(server)[1] - kept
    expect(most < allowed, f"{most:.0f} MiB more, allowed are {allowed:.0f}")
    held = counted["held at most"]
    expect(held < REQUEST_SECONDS, f"a connection without a request was open for {held} s")
    await traffic.during(f"{name}: after", asyncio.sleep(2))
    await files_back(server, opened)
    server.stop()


# Floods


async def floods():
    """Connects, frames without a session, bad tokens and large frames: from one address, and from many."""
    number = count(50)
    seconds = 1 if number <= 20 else 3 if number <= 50 else 10
    server = await started("floods", **{"listen.proxies": PROXY, "listen.proxy_protocol": "true"})
    traffic = Traffic(server)
    await traffic.open()
    await traffic.during("before", asyncio.sleep(2))
    kept, opened = memory(server)[0], files(server)
    allowed = float(os.environ.get("DRILL_MEMORY") or 60 + number * 0.3)
    for kind in ("connects", "frames", "tokens", "large"):
        for addresses in ("1", "many"):
            process = await attacker(kind, server.port, number, seconds, addresses)
            counted = await traffic.during(f"{kind}, {addresses} address{'es' * (addresses != '1')}", report(process))
            print(f"    {counted}")
            most = memory(server)[1] - kept
            expect(most < allowed, f"{most:.0f} MiB more, allowed are {allowed:.0f}")
            await files_back(server, opened)
    await traffic.during("after", asyncio.sleep(2))
    server.stop()


# The attackers: processes of their own


async def attack_wire(port, target, _):
    """Forwards everything until the process is stopped."""

    async def pipe(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()

    async def accepted(reader, writer):
        up = await asyncio.open_connection("127.0.0.1", target)
        await asyncio.gather(pipe(reader, up[1]), pipe(up[0], writer))

    async with await asyncio.start_server(accepted, "127.0.0.1", port, backlog=4096) as listener:
        print("ready", flush=True)
        await listener.serve_forever()


async def attack_slow(port, number, seconds, kind):
    """A third sends nothing, a third trickles its first bytes, and a third trickles its request."""
    end, counted, held = time.monotonic() + seconds, collections.Counter(), [0]
    tls = trusting() if kind == "tls" else None
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    hello = trusting().wrap_bio(incoming, outgoing, server_hostname="localhost")
    try:
        hello.do_handshake()
    except ssl.SSLWantReadError:
        pass
    first = outgoing.read() if tls else UPGRADE

    async def one(n):
        await asyncio.sleep(n / number)
        while time.monotonic() < end:
            began = time.monotonic()
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=tls if n % 3 == 2 else None)
                text, counted["connects"] = [b"", first, UPGRADE][n % 3], counted["connects"] + 1
                for place in range(10000):
                    if place < len(text) - 1:
                        writer.write(text[place : place + 1])
                    try:
                        if not await asyncio.wait_for(reader.read(4096), 0.3):
                            break
                    except asyncio.TimeoutError:
                        pass
                    if time.monotonic() > end:
                        break
                else:
                    counted["never closed"] += 1
                writer.transport.abort()
            except OSError as error:
                counted[type(error).__name__] += 1
            held[0] = max(held[0], time.monotonic() - began)

    await asyncio.gather(*map(one, range(number)))
    print(json.dumps({**counted, "held at most": round(held[0], 1)}))


async def attack_flood(kind, port, number, seconds, addresses):
    end, counted = time.monotonic() + seconds, collections.Counter()
    forged = token("mallory", b"guessed")
    opening = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.open", "params": {
        "token": forged, "device": {"id": str(uuid.uuid4()), "platform": "ios"}}}).encode()

    def source():
        """A loopback address, which has no limits, or an address behind the proxy, which has."""
        host = random.randrange(1, 1 << 16) if addresses == "many" else 1
        if random.random() < 0.5:
            return {"source": f"127.7.{host >> 8}.{host & 255 or 1}"}
        header = f"PROXY TCP4 203.0.{host >> 8}.{host & 255} 127.0.0.1 4000 {port}\r\n"
        return {"source": PROXY, "header": header.encode()}

    async def one():
        while time.monotonic() < end:
            try:
                if kind == "connects":
                    origin = source()
                    _, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(origin["source"], 0))
                    writer.write(origin.get("header", b"") + UPGRADE[: random.choice([0, 20, len(UPGRADE)])])
                    counted["connects"] += 1
                    writer.transport.abort()
                    await asyncio.sleep(0)
                    continue
                link = await Socket.connect(port, **source())
                counted["connects"] += 1
                try:
                    await asyncio.wait_for(against(link), max(0.1, end - time.monotonic()))
                finally:
                    link.cut()
            except Gone as gone:
                counted[f"closed with {gone.code}"] += 1
            except asyncio.TimeoutError:
                pass
            except OSError as error:
                counted[type(error).__name__] += 1

    async def against(link):
        while True:
            if kind == "frames":
                for _ in range(20):
                    link.write(b'{"jsonrpc":"2.0","id":1,"method":"call.list","params":{}}')
            elif kind == "tokens":
                link.write(opening)
            else:
                link.write(b"x" * random.choice([65536, 65536, 1 << 20]))
            await link.writer.drain()
            for _ in range(1 + 19 * (kind == "frames")):
                answer = json.loads(await link.frame())
                counted[answer.get("error", {}).get("data", {}).get("code", "welcome")] += 1

    await asyncio.gather(*[one() for _ in range(number)])
    print(json.dumps(dict(counted.most_common())))


DRILLS = {"reconnect": reconnect, "slow-readers": slow_readers, "half-open": half_open,
          "slow-handshakes": slow_handshakes, "floods": floods}
FLOODS = {kind: functools.partial(attack_flood, kind) for kind in ("connects", "frames", "tokens", "large")}

main(DRILLS, {"wire": attack_wire, "slow": attack_slow, **FLOODS})
