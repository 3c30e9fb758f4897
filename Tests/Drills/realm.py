"""A realm under faults: several servers on one PostgreSQL, one of them its home.

The first argument names one of DRILLS. Phones place calls meanwhile, and note what they are told (`phones.py`). After
each drill all that was acknowledged is in the store, no call has two winners, no device got two pushes for a call, and
`reveille pushes audit` finds nothing. COUNT is the number of rounds; of database the seconds of the longest outage, and
of nemesis those of the drill. DRILL_SEED seeds the random numbers. Needs root.
"""

import asyncio
import collections
import errno
import json
import os
import random
import signal
import ssl
import subprocess
import sys
import time
import uuid

import websockets
from common import FOLDER, ROOM, count, expect, wait_for
from ports import free_port
from phones import (
    ENDED, LED, RANKS, Books, Entry, Phone, Simulator, answer, compare, connect, end, on_push, traffic)
from realm_common import RUN, TAKE_OVER, Postgres, Realm, enter_namespaces, run, summary
from realm_nemesis import LINKS, Nemesis
from realm_network import Balancer, Wires, inside, make_namespaces

SEED = int(os.environ.get("DRILL_SEED") or 7)


class Setting:
    """PostgreSQL, the push simulator and a started realm. Ends all of them."""

    def __init__(self, name, nodes=("one", "two"), period=0.02, size="2g"):
        self.name, self.names, self.period, self.size = name, nodes, period, size
        self.simulator = self.realm = None

    def __enter__(self):
        self.database = Postgres(f"{self.name}-db", size=self.size).create().start()
        folder = FOLDER / f"{self.name}-sim"
        folder.mkdir()
        self.simulator = Simulator(folder)
        self.realm = Realm(
            self.database, [f"{self.name}-{node}" for node in self.names], folder / "push-sim")
        try:
            self.arrange()
            self.realm.start(self.period)
        except BaseException:
            self.__exit__()
            raise
        return self

    def arrange(self):
        """Called before the nodes start."""

    def __exit__(self, *_):
        self.realm.end()
        self.simulator.stop()
        self.database.send(signal.SIGCONT)
        self.database.stop("immediate")


def finish(setting, books, phones):
    """Compares the records with the store."""
    setting.realm.expect_running()
    compare(books, setting.realm, phones)
    books.check()
    print(f"  {summary(books.numbers)}", flush=True)


def milliseconds(times):
    ordered = sorted(times)
    return (f"{ordered[0] * 1000:.0f} to {ordered[-1] * 1000:.0f} ms, median "
            f"{ordered[len(ordered) // 2] * 1000:.0f} ms")


# kill -9 at each point of a call


class Stage:
    """One call for each point of its way, each with devices of its own."""

    POINTS = ["invite-sent", "acknowledged", "push-intended", "push-sent", "push-accepted", "ringing", "answer-sent",
              "answered", "connected", "hangup-sent"]
    RING_MS = 14000

    def __init__(self, books, realm, simulator):
        self.books, self.realm, self.simulator, self.phones, self.entries = books, realm, simulator, {}, {}
        for point in self.POINTS:
            token = realm.command("token", f"{point}.callee", "--ttl", "2h").strip()
            self.add(f"{point}.caller", realm.command("token", f"{point}.caller", "--ttl", "2h").strip())
            self.add(f"{point}.callee/a", token, point.startswith("push"))
            if point in ("answer-sent", "answered"):
                self.add(f"{point}.callee/b", token)

    def add(self, name, token, has_push=False):
        push = self.simulator.register(name) if has_push else None
        self.phones[name] = Phone(self.books, self.realm, name, token, push)

    def phone(self, point, role):
        return self.phones[f"{point}.{role}"]

    async def open(self):
        for phone in self.phones.values():
            phone.wake()
        await asyncio.wait_for(asyncio.gather(*[phone.is_open.wait() for phone in self.phones.values()]), 30)
        await asyncio.gather(*[phone.rest() for phone in self.phones.values() if phone.push])

    async def rest(self):
        await asyncio.gather(*[phone.rest() for phone in self.phones.values() if phone.push])

    # Before the kill

    async def prepare(self):
        """Brings each call to the step before its point."""
        for point in self.POINTS:
            callees = [name for name in self.phones if name.startswith(f"{point}.callee")]
            entry = Entry(str(uuid.uuid4()), f"{point}.caller", callees, LED)
            self.entries[point] = self.books.entries[entry.call] = entry
        later = ("invite-sent", "acknowledged", "push-intended")
        await asyncio.gather(*[self.advance(point) for point in self.POINTS if point not in later])

    async def advance(self, point):
        entry, caller, callee = self.entries[point], self.phone(point, "caller"), self.phone(point, "callee/a")
        if point == "push-sent":
            await asyncio.to_thread(
                self.realm.command_on_simulator, "fault", "no-answer", "--token", callee.push, "--count", "1")
        await self.invite(point)
        if point == "push-accepted":
            await self.until_store(entry, "accepted")
        elif point == "push-sent":
            await self.until_store(entry, "sent")
        else:
            for name in entry.callees:
                await self.at(self.phones[name], entry, RANKS["routing"])
        if point in ("answer-sent", "answered", "connected", "hangup-sent"):
            await callee.insist("call.ringing", call_id=entry.call)
            await self.at(caller, entry, RANKS["ringing"])
        if point in ("connected", "hangup-sent"):
            expect(await answer(callee, entry), "the only device loses")
            await self.at(caller, entry, RANKS["answered"])
            await asyncio.gather(connect(caller, entry), connect(callee, entry))

    async def until_store(self, entry, status):
        """Waits for the push's status in the ledger. A device that is woken reports later."""
        def found():
            pushes = self.realm.show("pushes", "list", "--call", entry.call)["pushes"]
            return [push for push in pushes if push["status"] == status]
        await asyncio.to_thread(wait_for, found, f"the push is {status}", 10)

    async def at(self, phone, entry, rank):
        seen = await phone.until(entry, rank, 10)
        expect(seen >= rank, f"{phone.name} has seen rank {seen}, not {rank}, of {entry.call}")

    async def invite(self, point):
        entry = self.entries[point]
        await self.phone(point, "caller").insist(
            "call.invite", call_id=entry.call, to=f"{point}.callee", sdp=entry.offer, ring_ms=self.RING_MS)
        entry.invited = True

    async def step(self, point):
        """The step in which the home is killed. It is repeated until it has a reply."""
        entry, caller, callee = self.entries[point], self.phone(point, "caller"), self.phone(point, "callee/a")
        if point in ("invite-sent", "acknowledged", "push-intended"):
            await self.invite(point)
        elif point == "ringing":
            await callee.insist("call.ringing", call_id=entry.call)
        elif point in ("answer-sent", "answered"):
            expect(await answer(callee, entry), f"{point}: the first device loses")
        elif point == "hangup-sent":
            await end(caller, entry, "call.hangup")

    # After it

    async def go_on(self, point):
        """The call goes on at the new home."""
        entry, caller, callee = self.entries[point], self.phone(point, "caller"), self.phone(point, "callee/a")
        if point == "acknowledged":
            return await self.ring_out(entry, caller)
        if point == "hangup-sent":
            return await self.at(callee, entry, ENDED)
        if point.startswith("push"):
            if await callee.until(entry, RANKS["routing"], 4) < RANKS["routing"]:
                self.books.numbers[f"{point}: devices that no push woke"] += 1
                return await end(caller, entry, "call.hangup")
            # The simulator never answers the first push, and delivers only another one.
            self.books.expect(point != "push-sent", entry, "the push was sent again")
            # It may have acted over HTTP only.
            callee.wake()
        if point != "connected":
            await self.at(callee, entry, RANKS["routing"])
            expect(await answer(callee, entry), f"{point}: the winner does not win again")
            await self.at(caller, entry, RANKS["answered"])
        for name in entry.callees[1:]:
            expect(not await answer(self.phones[name], entry), f"{point}: two devices have won")
        await asyncio.gather(connect(caller, entry), connect(callee, entry))
        await caller.insist("call.update", call_id=entry.call, kind="info")
        await end(callee, entry, "call.hangup")
        await self.at(caller, entry, ENDED)

    async def ring_out(self, entry, caller):
        await self.until_ended(entry, caller)
        row = (await asyncio.to_thread(self.realm.show, "calls", "show", entry.call))["call"]
        rang = row["ended_at"]["ms"] - row["created_at"]["ms"]
        expect(row["reason"] == "ring_timeout", f"a call that nobody answers ends with {row['reason']}")
        expect(abs(rang - self.RING_MS) < 1500, f"it rang for {rang} ms, not {self.RING_MS}")

    async def until_ended(self, entry, caller):
        expect(await caller.until(entry, ENDED, self.RING_MS / 1000 + 5) == ENDED, "the ring time does not end")


async def kill_at_points(setting, books, rounds):
    realm, stage, times = setting.realm, Stage(books, setting.realm, setting.simulator), []
    realm.command_on_simulator = lambda *words: realm.nodes[0].command(
        "push-sim", *words, "--push-sim-data", setting.simulator.data / "push-sim")
    await stage.open()
    attachments = [asyncio.create_task(setting.simulator.attach(phone, on_push))
                   for phone in stage.phones.values() if phone.push]
    try:
        for number in range(rounds):
            await stage.prepare()
            # Acknowledged before the kill; the others are under way.
            done = [stage.step(point) for point in ("acknowledged", "ringing", "answered")]
            await asyncio.gather(*done)
            under_way = [asyncio.create_task(stage.step(point))
                         for point in ("invite-sent", "push-intended", "answer-sent", "hangup-sent")]
            await asyncio.sleep(random.uniform(0, 0.02))
            home, epoch, at = realm.home, realm.epoch, time.monotonic()
            await asyncio.to_thread(home.kill)
            for entry in stage.entries.values():
                entry.note("drill", f"kill of {home.name}")
            term = await asyncio.to_thread(realm.watch.wait_home, at, TAKE_OVER, set(realm.nodes) - {home})
            times.append(term.first - at)
            expect(realm.epoch == epoch + 1, f"the epoch rose from {epoch} to {realm.epoch}")
            restart = asyncio.create_task(asyncio.to_thread(home.join))
            for task in under_way:
                await asyncio.wait_for(task, 20)
            await asyncio.wait_for(asyncio.gather(*map(stage.go_on, stage.POINTS)), 60)
            await restart
            await stage.rest()
            books.check()
        expect(not (realm.show("pushes", "list", "--open")["pushes"]), "pushes are open")
    finally:
        await setting.simulator.detach(attachments)
    realm.watch.expect_one_home()
    print(f"  {rounds} kills at each of {len(stage.POINTS)} points: ready after {milliseconds(times)}")
    return stage.phones


def kill():
    """The home is killed at each point of a call's way."""
    books = Books()
    with Setting("kill") as setting:
        phones = asyncio.run(kill_at_points(setting, books, count(3)))
        finish(setting, books, phones)


# A home that is paused


class Probe:
    """A session that writes requests and waits for no reply."""

    def __init__(self, realm, user):
        self.realm, self.user, self.device, self.number = realm, user, str(uuid.uuid4()), 0
        self.token = realm.command("token", user, "--ttl", "2h").strip()
        self.frames, self.sent, self.reader = [], {}, None

    async def open(self):
        self.socket = await websockets.connect(
            self.realm.url + "/v1/signal", subprotocols=["reveille.v1"], compression=None, ping_interval=None,
            close_timeout=0.2)
        self.frames, self.sent = [], {}
        self.reader = asyncio.create_task(self.read())
        await self.write("session.open", token=self.token, device={"id": self.device, "platform": "desktop"})
        await self.reply(self.number)
        return self

    async def read(self):
        try:
            while True:
                message = await self.socket.recv()
                self.frames.append((time.monotonic(), json.loads(message)))
        except websockets.ConnectionClosed:
            pass

    async def write(self, method, **params):
        """Returns the request's number."""
        self.number += 1
        self.sent[self.number] = time.monotonic()
        await self.socket.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}))
        return self.number

    async def reply(self, number, seconds=10.0):
        """Returns a reply and how long it took."""
        deadline = time.monotonic() + seconds
        while True:
            for at, frame in self.frames:
                if frame.get("id") == number and "method" not in frame:
                    return frame, at - self.sent[number]
            expect(time.monotonic() < deadline, f"{self.user}: no reply in {seconds} s")
            await asyncio.sleep(0.01)

    async def insist(self, method, seconds=20.0, **params):
        """Repeats the request while it is refused as overloaded."""
        deadline = time.monotonic() + seconds
        while True:
            reply, _ = await self.reply(await self.write(method, **params))
            if reply.get("error", {}).get("data", {}).get("code") != "overloaded":
                expect("error" not in reply, f"{method}: {reply}")
                return reply["result"]
            expect(time.monotonic() < deadline, f"{method} is refused for {seconds} s: {reply}")
            await asyncio.sleep(0.1)

    async def close(self):
        await self.socket.close()
        await self.reader


async def pause(setting, books, rounds):
    realm, times = setting.realm, []
    for _ in range(rounds):
        await asyncio.sleep(2)
        probes = [await Probe(realm, f"probe{number}").open() for number in range(4)]
        call = str(uuid.uuid4())
        # Those that are placed at the paused home must not be in the store.
        books.others.add(call)
        await probes[0].reply(await probes[0].write("call.invite", call_id=call, to="probe1", ring_ms=30000))
        home, epoch, at = realm.home, realm.epoch, time.monotonic()
        home.process.send_signal(signal.SIGSTOP)
        for entry in list(books.entries.values())[-40:]:
            entry.note("drill", f"{home.name} is stopped")
        term = await asyncio.to_thread(realm.watch.wait_home, at, TAKE_OVER, set(realm.nodes) - {home})
        times.append(term.first - at)
        expect(realm.epoch == epoch + 1, f"the epoch rose from {epoch} to {realm.epoch}")
        heard = [len(probe.frames) for probe in probes]
        for probe in probes:
            await probe.write("call.get", call_id=call)
            await probe.write("call.list")
            await probe.write("call.invite", call_id=str(uuid.uuid4()), to="probe3")
        await probes[1].write("call.answer", call_id=call, sdp="late")
        await asyncio.sleep(max(0.0, at + 10 - time.monotonic()))
        home.process.send_signal(signal.SIGCONT)
        continued = time.monotonic()
        await asyncio.wait_for(asyncio.gather(*[probe.reader for probe in probes]), 10)
        books.numbers["requests to a home that was paused"] += 13
        for probe, before in zip(probes, heard):
            said = [frame for _, frame in probe.frames[before:] if "error" not in frame]
            expect(not said, f"{home.name} says after the take-over: {said[:3]}")
        await asyncio.to_thread(
            wait_for, lambda: home.ready()[0] == 503 and "standby" in home.ready()[1], "it stands by again", 10)
        books.numbers["ms until it stands by, at most"] = max(
            books.numbers["ms until it stands by, at most"], int((time.monotonic() - continued) * 1000))
        expect("lost the lease" in home.output, f"{home.name} has not logged that it lost the lease")
        books.check()
    await asyncio.sleep(1)
    realm.watch.expect_one_home()
    print(f"  {rounds} pauses: ready after {milliseconds(times)}")


def stop():
    """The home is paused for 10 s under load."""
    books = Books(patience=60, reply_seconds=3)
    with Setting("stop") as setting:
        faults = lambda phones: pause(setting, books, count(2))
        phones = asyncio.run(traffic(books, setting.realm, setting.simulator, faults, workers=8))
        finish(setting, books, phones)


# A database that is away


class Outage:
    """A fault of PostgreSQL, and its end."""

    def __init__(self, database):
        self.database = database

    def begin(self, kind):
        if kind in ("fast", "immediate"):
            self.database.stop(kind)
        elif kind == "paused":
            self.database.send(signal.SIGSTOP)
        elif kind == "full":
            with open(self.database.folder / "fill", "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(1 << 16))
                except OSError as error:
                    expect(error.errno == errno.ENOSPC, str(error))
        else:
            self.database.sql("ALTER ROLE app CONNECTION LIMIT 0")
            self.database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'app'")

    def end(self, kind):
        if kind == "paused":
            self.database.send(signal.SIGCONT)
        elif kind == "full":
            (self.database.folder / "fill").unlink(missing_ok=True)
        elif kind == "connections":
            self.database.sql("ALTER ROLE app CONNECTION LIMIT -1")
        # Without space it may have ended by itself.
        if kind in ("fast", "immediate") or self.database.process.poll() is not None:
            self.database.start()


KINDS = ["fast", "immediate", "paused", "full", "connections"]
# The longest time until a request is refused whose commit cannot be written.
REFUSED_WITHIN = 5.5


async def outages(setting, books, plan):
    realm, outage = setting.realm, Outage(setting.database)
    one, other, asking = [await Probe(realm, f"standing{number}").open() for number in range(3)]
    call = str(uuid.uuid4())
    books.others.add(call)
    for probe, method, params in [
            (one, "invite", {"to": "standing1", "sdp": "v=0"}), (other, "answer", {"sdp": "v=0"}),
            (one, "connected", {}), (other, "connected", {})]:
        await probe.insist(f"call.{method}", call_id=call, **params)
    for kind, seconds in plan:
        await asyncio.sleep(2)
        epoch, home, closed = realm.epoch, realm.home, closings(books)
        for entry in list(books.entries.values())[-40:]:
            entry.note("drill", f"PostgreSQL: {kind} for {seconds} s")
        at, numbers = time.monotonic(), []
        await asyncio.to_thread(outage.begin, kind)
        while time.monotonic() < at + seconds:
            new = str(uuid.uuid4())
            books.others.add(new)
            numbers.append(await asking.write("call.invite", call_id=new, to="nobody"))
            await asyncio.sleep(0.5)
        await asyncio.to_thread(outage.end, kind)
        ended = time.monotonic()
        await asyncio.to_thread(wait_for, lambda: realm.watch.statuses[realm.home] == 200, "a home is ready", 30)
        ready = time.monotonic() - ended
        replies = [await asking.reply(number, 15) for number in numbers]
        refused = [(frame["error"]["data"], took) for frame, took in replies if "error" in frame]
        slowest = max([took for frame, took in replies if "error" in frame], default=0)
        print(f"  {kind:11} {seconds:2} s: ready {ready:4.1f} s after it, {len(refused)} of {len(replies)} invites "
              f"refused, after at most {slowest:.1f} s", flush=True)
        realm.expect_running()
        expect(realm.epoch == epoch and realm.home is home, f"the epoch was {epoch} and is {realm.epoch}")
        expect(closings(books) == closed, f"connections were closed: {books.numbers}")
        expect(one.socket.open and other.socket.open and asking.socket.open, "a connection was closed")
        expect(slowest < REFUSED_WITHIN, f"an invite was refused after {slowest:.1f} s only")
        expect(seconds < 6 or kind == "full" or refused, f"no invite was refused in {seconds} s")
        for data, _ in refused:
            expect(data["code"] == "overloaded" and "retry_after_ms" in data, f"an invite is refused: {data}")
        view = await one.insist("call.get", call_id=call)
        expect(view["state"] == "connected", f"a call under way: {view}")
        books.check()
    await one.insist("call.hangup", call_id=call)
    for probe in (one, other, asking):
        await probe.close()


def closings(books):
    """How many connections were closed, but for those of devices that go to sleep."""
    return sum(number for name, number in books.numbers.items()
               if name.startswith("connections closed") and not name.endswith(" 1000"))


def database():
    """PostgreSQL is stopped, killed, paused, without space and without connections."""
    longest = count(7)
    plan = [(kind, seconds) for kind in KINDS for seconds in (2, min(longest, 8))]
    books = Books(patience=60 + longest)
    with Setting("database", size="160m") as setting:
        faults = lambda phones: outages(setting, books, plan + ([("fast", longest)] if longest > 8 else []))
        phones = asyncio.run(traffic(books, setting.realm, setting.simulator, faults, workers=8))
        finish(setting, books, phones)


# Faults of the network and everything else


class Network:
    """Two nodes, PostgreSQL and its synchronous standby, each in a namespace of its own, and HAProxy before them."""

    def __enter__(self):
        make_namespaces("n1", "n2", "db", "db2")
        self.wires = Wires(LINKS, SEED)
        self.wires.start()
        timeouts = ["wal_sender_timeout = 2s", "wal_receiver_timeout = 2s"]
        self.database = Postgres("primary", timeouts, host="*", prefix=inside("db")).create().start()
        self.second = Postgres("second", prefix=inside("db2"))
        self.second.follow(self.database, self.wires.links["db-db2"].addresses["db"])
        folder = FOLDER / "nemesis-sim"
        folder.mkdir()
        self.simulator = Simulator(folder)
        self.realm = Realm(self.database, [], folder / "push-sim")
        for name in ("n1", "n2"):
            host = self.wires.links[f"{name}-edge"].addresses
            self.realm.nodes.append(self.realm.node(
                name, f"postgres://app@{self.wires.links[f'{name}-db'].addresses['db']}/postgres",
                {"listen.proxies": host["edge"], "store.unencrypted_database": "true"}, ["--host", host[name], "--insecure"], host=host[name],
                prefix=inside(name)))
        self.balancer = Balancer(self.realm.nodes, ["n1", "n2"], folder / "push-sim")
        self.realm.start(0.1)
        self.realm.port = self.balancer.port
        return self

    def __exit__(self, *_):
        # What this leaves ends with the namespaces.
        self.realm.end()
        self.balancer.stop()
        self.simulator.stop()
        self.wires.stop()


async def torment(network, books, counts, seconds):
    nemesis = Nemesis(network.realm, network.wires, network.database, SEED)
    restarts = asyncio.create_task(restart_ended(network.realm, nemesis, counts))
    try:
        await nemesis.run(seconds)
    finally:
        restarts.cancel()
    counts.update(nemesis.counts)
    healed = time.monotonic()
    for node in network.realm.nodes:
        if node.process.poll() is not None:
            node.launch()
    await asyncio.to_thread(network.realm.watch.wait_home, healed, 30, None, True)
    print(f"  healed: ready after {time.monotonic() - healed:.1f} s", flush=True)
    await asyncio.sleep(3)


async def restart_ended(realm, nemesis, counts):
    """As a service manager does. A node may end only while it starts, without its database."""
    while True:
        await asyncio.sleep(1)
        for node in realm.nodes:
            if node not in nemesis.busy and node.process.poll() is not None:
                counts["starts that failed"] += 1
                has_joined = "standing by" in node.output or "is the realm's home" in node.output
                expect(not has_joined, f"{node.name} has ended with {node.process.returncode}:\n{node.output[-2000:]}")
                node.launch()


def nemesis():
    """Random faults of links, nodes and databases."""
    books, counts = Books(patience=120, reply_seconds=4), collections.Counter()
    with Network() as network:
        faults = lambda phones: torment(network, books, counts, count(60))
        phones = asyncio.run(traffic(books, network.realm, network.simulator, faults, workers=8))
        finish(network, books, phones)
        print(f"  faults: {summary(counts)}; epoch {network.realm.epoch}, {network.wires.packets} packets")


# Handover, and races of standbys

# The longest time without a home at a handover.
HANDOVER = 0.5 * ROOM


async def hand_over(setting, books, rounds):
    realm, gaps = setting.realm, []
    for number in range(rounds):
        await asyncio.sleep(1.5)
        home, next_home, epoch, at = realm.home, realm.others[0], realm.epoch, time.monotonic()
        for entry in list(books.entries.values())[-40:]:
            entry.note("drill", f"handover from {home.name} to {next_home.name}")
        old = realm.watch.terms[-1]
        error = await asyncio.to_thread(realm.hand_over, next_home)
        expect(not error, f"handover {number + 1}: {error}")
        term = await asyncio.to_thread(realm.watch.wait_home, at, 10, {next_home})
        gaps.append(term.first - old.last)
        expect(realm.epoch == epoch + 1, f"the epoch rose from {epoch} to {realm.epoch}")
        await asyncio.to_thread(wait_for, lambda: "standby" in home.ready()[1], f"{home.name} stands by", 10)
        books.check()
    realm.watch.expect_one_home()
    print(f"  {rounds} handovers: without a home for {milliseconds(gaps)}", flush=True)
    expect(max(gaps) <= HANDOVER, f"without a home for {max(gaps):.3f} s, allowed are {HANDOVER} s")


def handover():
    """The nodes hand over back and forth, under calls."""
    books = Books(patience=60, reply_seconds=4)
    with Setting("handover", period=0.005) as setting:
        faults = lambda phones: hand_over(setting, books, count(6))
        phones = asyncio.run(traffic(books, setting.realm, setting.simulator, faults, workers=8))
        finish(setting, books, phones)


async def kill_again(setting, books, rounds):
    realm, times, winners, restarts = setting.realm, [], collections.Counter(), []
    for _ in range(rounds):
        await asyncio.gather(*restarts)
        await asyncio.sleep(random.uniform(0, 1))
        home, epoch, at = realm.home, realm.epoch, time.monotonic()
        await asyncio.to_thread(home.kill)
        for entry in list(books.entries.values())[-40:]:
            entry.note("drill", f"kill of {home.name}")
        term = await asyncio.to_thread(realm.watch.wait_home, at, TAKE_OVER, set(realm.nodes) - {home})
        times.append(term.first - at)
        winners[term.node.name] += 1
        expect(realm.epoch == epoch + 1, f"the epoch rose from {epoch} to {realm.epoch}")
        restarts = [asyncio.create_task(asyncio.to_thread(home.join))]
        books.check()
    await asyncio.gather(*restarts)
    realm.watch.expect_one_home()
    expect(realm.epoch == rounds + 1, f"the epoch is {realm.epoch} after {rounds} take-overs")
    print(f"  {rounds} kills: ready after {milliseconds(times)}; take-overs: {summary(winners)}", flush=True)


def race():
    """The home is killed again and again; two standbys race for its place."""
    books = Books(patience=60, reply_seconds=4)
    with Setting("race", ("one", "two", "three")) as setting:
        faults = lambda phones: kill_again(setting, books, count(5))
        phones = asyncio.run(traffic(books, setting.realm, setting.simulator, faults, workers=4))
        finish(setting, books, phones)


# A clean stop, and later a home that is silent

# The longest time in which HAProxy notices that another node is the home, and closes the sockets of the former one.
NOTICED = 1.0 * ROOM


class Shipped(Setting):
    """Two nodes behind HAProxy with the shipped configuration."""

    PORT = 7350

    def arrange(self):
        hosts = ["127.77.0.1", "127.77.0.2"]
        for host, name in zip(hosts, "ab"):
            self.realm.nodes.append(self.realm.node(
                f"{self.name}-{name}", self.realm.data,
                {"listen.port": self.PORT, "listen.proxies": "127.0.0.1", "listen.proxy_protocol": "true"},
                ["--host", host, "--insecure"], host=host))
        key, certificate, pair = FOLDER / "key.pem", FOLDER / "certificate.pem", RUN / "pair.pem"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
            "2", "-subj", "/CN=localhost", "-keyout", key, "-out", certificate)
        pair.write_text(certificate.read_text() + key.read_text())
        port = free_port()
        self.url = f"wss://127.0.0.1:{port}"
        with open(FOLDER / "haproxy.log", "wb") as log:
            self.haproxy = subprocess.Popen(
                ["haproxy", "-db", "-f", "Resources/haproxy/haproxy.cfg"], stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, env={
                    **os.environ, "NODE_A": hosts[0], "NODE_B": hosts[1], "CLIENTS_PORT": str(self.PORT),
                    "LISTEN": f"127.0.0.1:{port}", "LISTEN_ADMIN": f"127.0.0.1:{free_port()}", "TLS_ENDS": "proxy",
                    "CERTIFICATE": str(pair)})

    def __exit__(self, *_):
        super().__exit__()
        self.haproxy.kill()
        self.haproxy.wait()


class Waiter:
    """A client with a session, which sends no pings, and comes back when its connection is closed."""

    TRUSTING = ssl.create_default_context()
    TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE

    def __init__(self, url, token):
        self.url, self.token, self.device = url, token, str(uuid.uuid4())
        # The name of the node that it has a session at.
        self.node, self.task = None, asyncio.create_task(self.run())

    async def run(self):
        while True:
            try:
                async with websockets.connect(
                    self.url + "/v1/signal", subprotocols=["reveille.v1"], compression=None, ping_interval=None,
                    open_timeout=10, close_timeout=0.2, ssl=self.TRUSTING,
                ) as socket:
                    await self.stay(socket)
            except (OSError, asyncio.TimeoutError, websockets.WebSocketException, EOFError):
                pass
            finally:
                self.node = None
            await asyncio.sleep(random.uniform(0.02, 0.5))

    async def stay(self, socket):
        node = None
        params = {"token": self.token, "device": {"id": self.device, "platform": "desktop"}}
        await socket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "session.open", "params": params}))
        async for message in socket:
            frame = json.loads(message)
            if frame.get("method") == "welcome":
                node = frame["params"]["node"]
            elif frame.get("id") == 1:
                if "error" in frame:
                    return
                self.node = node


WAITERS = 60


async def all_at(node, waiters):
    deadline = time.monotonic() + 20 * ROOM
    while (there := sum(waiter.node == node.name for waiter in waiters)) < len(waiters):
        expect(time.monotonic() < deadline, f"only {there} of {len(waiters)} clients are at {node.name}")
        await asyncio.sleep(0.05)


async def leave_and_fall_silent(setting, rounds):
    realm, left = setting.realm, []
    tokens = [realm.command("token", f"waiter{number}", "--ttl", "2h").strip() for number in range(WAITERS)]
    waiters = [Waiter(setting.url, token) for token in tokens]
    for _ in range(rounds):
        home, other = realm.home, realm.others[0]
        await all_at(home, waiters)
        # The home knows of its standby by now.
        await asyncio.sleep(1)
        at = time.monotonic()
        await asyncio.to_thread(home.stop)
        await asyncio.to_thread(realm.watch.wait_home, at, TAKE_OVER, {other})
        await all_at(other, waiters)
        await asyncio.to_thread(home.join)
        at = time.monotonic()
        other.process.send_signal(signal.SIGSTOP)
        await asyncio.to_thread(realm.watch.wait_home, at, TAKE_OVER, {home})
        await asyncio.sleep(NOTICED)
        left.append(sum(waiter.node == other.name for waiter in waiters))
        other.process.send_signal(signal.SIGCONT)
        await asyncio.to_thread(wait_for, lambda: "standby" in other.ready()[1], f"{other.name} stands by", 10)
        # The next round begins at the other node.
        at = time.monotonic()
        error = await asyncio.to_thread(realm.hand_over, other)
        expect(not error, f"handover: {error}")
        await asyncio.to_thread(realm.watch.wait_home, at, 10, {other})
        await asyncio.to_thread(wait_for, lambda: "standby" in home.ready()[1], f"{home.name} stands by", 10)
    for waiter in waiters:
        waiter.task.cancel()
    print(f"  {rounds} clean stops, each before a home fell silent: clients left at it: {left}, of {WAITERS} each",
          flush=True)
    expect(not any(left), "clients were left at a home that is none")


def leave():
    """The home is stopped, and later the next one is paused: HAProxy leaves no client there."""
    with Shipped("leave", nodes=()) as setting:
        asyncio.run(leave_and_fall_silent(setting, count(2)))


# One connection that is cut in silence

# The longest time until a commit is made by another connection.
COMMITTED = 4.0 * ROOM


OF_COMMITS = "application_name LIKE 'reveille commits%' ORDER BY backend_start DESC LIMIT 1"


def cut(link, database):
    port = database.sql(f"SELECT client_port FROM pg_stat_activity WHERE {OF_COMMITS}")
    for way in link.ways:
        way.cut_port = int(port)


async def cut_answer(network, link):
    """Cuts the connection once the database has the commit, whose answer then never comes."""
    # For less than the home's lease, whose renewals wait too.
    network.second.send(signal.SIGSTOP)
    try:
        await asyncio.to_thread(
            wait_for, lambda: network.database.sql(
                f"SELECT wait_event FROM pg_stat_activity WHERE {OF_COMMITS}") == "SyncRep",
            "the commit waits for the standby", 5)
        cut(link, network.database)
    finally:
        network.second.send(signal.SIGCONT)


async def cut_commits(network, books, rounds):
    realm, times = network.realm, {"before": [], "after": []}
    probe = await Probe(realm, "halfopen").open()
    for number in range(rounds * 2):
        await asyncio.sleep(2)
        link, epoch, call = network.wires.links[f"{realm.home.name}-db"], realm.epoch, str(uuid.uuid4())
        when = ("before", "after")[number % 2]
        books.others.add(call)
        cutting = None
        if when == "before":
            cut(link, network.database)
        else:
            cutting = asyncio.create_task(cut_answer(network, link))
            await asyncio.sleep(0.1)
        at = time.monotonic()
        await probe.insist("call.invite", call_id=call, to="nobody")
        times[when].append(time.monotonic() - at)
        if cutting:
            await cutting
        link.heal()
        expect(realm.epoch == epoch, f"the epoch was {epoch} and is {realm.epoch}")
    await probe.close()
    for when, taken in times.items():
        print(f"  {rounds} connections cut {when} the commit was sent: a call is acknowledged after "
              f"{milliseconds(taken)}", flush=True)
        expect(max(taken) <= COMMITTED, f"a commit took {max(taken):.1f} s, allowed are {COMMITTED} s")


def half_open():
    """The connection of the home's commits is cut in silence, before and after one is sent; its lease goes on."""
    books = Books(patience=60, reply_seconds=4)
    with Network() as network:
        # Not through the balancer, which closes sockets while the home is not ready.
        network.realm.port = None
        asyncio.run(cut_commits(network, books, count(3)))
        network.realm.expect_running()


DRILLS = {
    "kill": kill, "stop": stop, "database": database, "race": race, "handover": handover, "nemesis": nemesis,
    "leave": leave, "half-open": half_open}



def main():
    enter_namespaces()
    for name in sys.argv[1:] or DRILLS:
        random.seed(SEED)
        began = time.monotonic()
        print(f"realm/{name}: {DRILLS[name].__doc__} Seed {SEED}.", flush=True)
        DRILLS[name]()
        print(f"realm/{name} ok: {time.monotonic() - began:.0f} s", flush=True)


main()
