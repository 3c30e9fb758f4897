"""Disk faults under the store, and damaged files. All that the server acknowledged must be in the store.

    Tests/Drills/run store                   each drill, short
    Tests/Drills/run store/disk-full 20      one drill, 20 runs; each run takes the next file of the store
    Tests/Drills/run store/flipped-bytes 50  50 variants of each file

faults.c, loaded into the server by LD_PRELOAD, simulates the faults. As root, disk-full also fills a small tmpfs.
"""

import asyncio
import collections
import ctypes
import itertools
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import time
import uuid

import websockets
from common import FOLDER, NotStarted, REVEILLE, Server, Wrong, count, expect, wait_for
from reveille import Closed, ReveilleError, report_push

PAIRS = 6
# The longest wait for a reply, a refusal or the end of the connection.
PATIENCE = 10.0
TOPIC = "org.reveille.phone.voip"
WHOLE = ""
FILES = [
    "reveille.sqlite3-wal", "reveille-journal.sqlite3-wal", "reveille.sqlite3", "reveille-journal.sqlite3",
    "reveille.mark", WHOLE]


# Acknowledgements


class Books:
    """The acknowledgements of the server: the steps of each call with their replies, push reports and push tokens."""

    def __init__(self):
        self.calls, self.reports, self.tokens = {}, {}, {}
        self.slowest, self.refusals = 0.0, {}

    def note(self, call, step, **facts):
        self.calls.setdefault(call, {}).setdefault(step, {}).update(facts)

    def check(self, server, when, is_running=False):
        """Compares the store, and a running server's own view, with the acknowledgements."""
        views = [("the store", [])]
        if is_running:
            views.append(("the server", ["--server", server.data / "admin.sock"]))
        for view, options in views:
            calls = server.show("calls", "list", "--limit", "100000", *options)["calls"]
            pushes = server.show("pushes", "list", "--limit", "100000", *options)["pushes"]
            devices = server.show("devices", "list", *options)["devices"]
            faults = self.faults(calls, pushes, devices)
            expect(not faults, f"{when}, {view}: {len(faults)} faults, first {faults[:3]}")

    def faults(self, calls, pushes, devices):
        faults = []
        calls = {call["call_id"]: call for call in calls}
        for call, steps in self.calls.items():
            shown = calls.get(call)
            if shown is None:
                faults.append(f"call {call} is missing, acknowledged {sorted(steps)}")
                continue
            faults += [f"call {call}: {words}: {shown}" for words in call_faults(steps, shown)]
        shown = {push["push_id"]: push for push in pushes}
        for push, result in self.reports.items():
            if shown.get(push, {}).get("report") != result:
                faults.append(f"push {push}: reported {result}, shown {shown.get(push)}")
        shown = {(device["user"], device["device_id"]): device for device in devices}
        for key, token in self.tokens.items():
            told = [at["token"] for at in shown.get(key, {"tokens": []})["tokens"]]
            if told != [token[:8] + "…"]:
                faults.append(f"device {key}: the token {token[:8]} is not there: {told}")
        return faults


def call_faults(steps, shown):
    if "invite" in steps:
        for key, value in steps["invite"].items():
            if shown.get(key) != value:
                yield f"{key} is not {value}"
    for step, key in [("ringing", "ringing_at"), ("answer", "answered_at"), ("connected", "connected_at")]:
        if step in steps and key not in shown:
            yield f"{key} is missing"
    if "answer" in steps and shown.get("answered_by_device_id") != steps["answer"]["device"]:
        yield "another device answered"
    if "end" in steps and (shown["state"], shown.get("reason")) != ("ended", steps["end"]["reason"]):
        yield f"the reply said ended, {steps['end']['reason']}"


# The phones


class Phones:
    """Pairs of phones that call each other until they are stopped, and one pair whose callee sleeps.

    A refused or lost request is repeated, which the protocol permits.
    """

    def __init__(self, server, books, seed):
        self.server, self.books, self.random = server, books, random.Random(seed)
        self.stopping, self.done, self.tasks, self.opened = asyncio.Event(), [0] * (PAIRS + 1), [], []
        self.halted = False
        self.keys = {
            name: (server.token(name), str(uuid.UUID(int=self.random.getrandbits(128), version=4)))
            for number in range(PAIRS) for name in (f"a{number}", f"b{number}")}
        self.sleeper = server.token("sleeper")

    def start(self):
        self.tasks = [asyncio.create_task(self.pair(number)) for number in range(PAIRS)]
        self.tasks.append(asyncio.create_task(self.sleeping()))

    async def stop(self):
        self.stopping.set()
        await asyncio.wait_for(asyncio.gather(*self.tasks), 90)

    async def halt(self):
        # asyncio.wait_for of Python 3.11 may lose a cancellation; the flag ends such a task.
        self.halted = True
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        # An open connection would keep the end of asyncio.run for 10 s.
        for phone in self.opened:
            phone._task.cancel()
            phone._socket.transport.abort()

    def failed(self):
        """Raises the first violation that a phone found."""
        for task in self.tasks:
            if task.done() and not self.stopping.is_set():
                task.result()

    async def ask(self, words, request):
        """Repeats a request until it is answered, and returns the reply. Each attempt ends within PATIENCE."""
        deadline = time.monotonic() + 60
        while True:
            if self.halted:
                raise asyncio.CancelledError
            began = time.monotonic()
            try:
                return await asyncio.wait_for(request(), PATIENCE + 2)
            except asyncio.TimeoutError:
                raise Wrong(f"{words}: no answer in {PATIENCE} s")
            except ReveilleError as refused:
                key = (refused.code, refused.message)
                self.books.refusals[key] = self.books.refusals.get(key, 0) + 1
                expect(refused.code in ("overloaded", "rate_limited"), f"{words} was refused: {refused} {refused.data}")
                pause = refused.data.get("retry_after_ms")
                expect(pause, f"{words}: a refusal without retry_after_ms: {refused.data}")
                if refused.code == "rate_limited":
                    await asyncio.sleep(pause / 1000)
            except (Closed, OSError, websockets.WebSocketException):
                # The connection has ended, as in a kill.
                pass
            finally:
                self.books.slowest = max(self.books.slowest, time.monotonic() - began)
            expect(time.monotonic() < deadline, f"{words} was not answered in 60 s")
            await asyncio.sleep(0.2)

    async def phone(self, name, **options):
        token, device = self.keys[name]

        async def opened():
            phone = self.server.phone(token, device_id=device, **options)
            try:
                await phone.open()
            except BaseException:
                if phone._socket is not None:
                    await phone._socket.close()
                raise
            self.opened.append(phone)
            return phone

        return await self.ask(f"session.open of {name}", opened)

    async def pair(self, number):
        push = [{
            "provider": "apns", "kind": "voip", "environment": "production", "topic": TOPIC,
            "token": f"{number:02x}" * 32}]
        caller, callee = await self.phone(f"a{number}"), await self.phone(f"b{number}", push=push)
        self.books.tokens[(f"b{number}", callee.device_id)] = push[0]["token"]
        try:
            while not self.stopping.is_set():
                await self.call(caller, callee, f"a{number}", f"b{number}")
                self.done[number] += 1
        finally:
            for phone in (caller, callee):
                phone._task.cancel()
                await phone._socket.close()

    async def call(self, caller, callee, a, b):
        call, books = str(uuid.uuid4()), self.books
        kind = self.random.randrange(5)

        async def step(phone, name, **params):
            return await self.ask(f"call.{name}", lambda: phone.request(f"call.{name}", call_id=call, **params))

        custom = {"order": self.random.randrange(10**6), "note": "n" * 300}
        await step(caller, "invite", to=b, sdp="v=0 offer " + call * 20, custom=custom, ring_ms=120_000)
        books.note(call, "invite", **{"from": a, "to": b, "from_device_id": caller.device_id})
        await callee.event("call.incoming", call, timeout=40)
        await step(callee, "ringing")
        books.note(call, "ringing")
        if kind == 0:
            reply = await step(callee, "decline", reason="declined")
        elif kind == 1:
            reply = await step(caller, "hangup")
        else:
            expect((await step(callee, "answer", sdp="v=0 answer " + call * 20))["won"], "the only device did not win")
            books.note(call, "answer", device=callee.device_id)
            await step(caller, "connected")
            if (await step(callee, "connected"))["state"] == "connected":
                books.note(call, "connected")
            reply = await step(self.random.choice([caller, callee]), "hangup")
        books.note(call, "end", reason=reply["reason"])
        await asyncio.sleep(self.random.random() / 20)

    async def stand(self, number):
        """A call that stays connected."""
        for name in (f"c{number}", f"d{number}"):
            self.keys[name] = (self.server.token(name), str(uuid.UUID(int=self.random.getrandbits(128), version=4)))
        caller, callee = await self.phone(f"c{number}"), await self.phone(f"d{number}")
        call = await caller.invite(f"d{number}", sdp="v=0 offer " + "o" * 200, custom={"stands": number})
        await callee.event("call.incoming", call)
        await callee.answer(call, sdp="v=0 answer")
        await caller.connected(call)
        await callee.connected(call)
        for phone in (caller, callee):
            self.tasks.append(phone._task)

    async def sleeping(self):
        """Calls to a phone that sleeps: the push is reported over HTTP, as an app's extension does."""
        name, server = "sleeper", self.server
        caller_token = server.token("waker")
        self.keys[name] = (self.sleeper, str(uuid.UUID(int=self.random.getrandbits(128), version=4)))
        self.keys["waker"] = (caller_token, str(uuid.UUID(int=self.random.getrandbits(128), version=4)))
        push = [{
            "provider": "apns", "kind": "voip", "environment": "production", "topic": TOPIC, "token": "5e" * 32}]
        phone = await self.phone(name, push=push)
        await self.ask("session.close", lambda: phone.request("session.close"))
        phone._task.cancel()
        self.books.tokens[(name, phone.device_id)] = push[0]["token"]
        caller = await self.phone("waker")
        while not self.stopping.is_set():
            call = str(uuid.uuid4())
            await self.ask("call.invite", lambda: caller.request(
                "call.invite", call_id=call, to=name, ring_ms=120_000))
            self.books.note(call, "invite", **{"from": "waker", "to": name, "from_device_id": caller.device_id})
            push_id = await self.push_of(call)
            await self.ask("push.report", lambda: report_push(server.url, self.sleeper, push_id, call))
            self.books.reports[push_id] = "reported"
            reply = await self.ask("call.hangup", lambda: caller.request("call.hangup", call_id=call))
            self.books.note(call, "end", reason=reply["reason"])
            self.done[PAIRS] += 1
        caller._task.cancel()
        await caller._socket.close()

    async def push_of(self, call):
        """The push of a call, once it may have reached the phone: the phone reports no other."""
        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            shown = await asyncio.to_thread(self.server.show, "pushes", "list", "--call", call)
            for push in shown["pushes"]:
                # After a kill the provider's answer is unknown.
                if push["status"] in ("accepted", "unknown"):
                    return push["push_id"]
            await asyncio.sleep(0.1)
        raise Wrong(f"no push of the call {call} was sent in 40 s")

    async def progress(self, calls, words, seconds=60):
        """Waits until each pair has placed this number of further calls."""
        # Calls to a sleeping phone are limited to one in some seconds.
        goal = [number + calls for number in self.done[:PAIRS]] + [self.done[PAIRS] + 1]
        deadline = time.monotonic() + seconds
        while any(number < least for number, least in zip(self.done, goal)):
            self.failed()
            expect(time.monotonic() < deadline, f"{words}: no progress in {seconds} s: {self.done} of {goal}")
            await asyncio.sleep(0.05)


# The faults


class Faults:
    """The control file of faults.c."""

    def __init__(self, name):
        self.path, self.library = FOLDER / f"{name}.faults", FOLDER / "faults.so"
        self.path.write_bytes(bytes(4096))
        if not self.library.exists():
            source = pathlib.Path(__file__).with_name("faults.c")
            # Debian has no C compiler by itself; the Swift toolchain has one.
            compiler = shutil.which("cc") or os.path.join(os.path.dirname(os.path.realpath(shutil.which("swift"))), "clang")
            subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", self.library, source], check=True)

    @property
    def environment(self):
        return {"LD_PRELOAD": str(self.library), "FAULTS": str(self.path)}

    def begin(self, kind, folder, name):
        self.write(f"{kind} {time.monotonic()} {folder}/{name}\n")

    def end(self):
        self.write("")

    def write(self, text):
        # Writes the first byte last, because the library reads it first.
        block = text.encode().ljust(4096, b"\0")
        with open(self.path, "r+b", buffering=0) as file:
            file.write(b"\0")
            file.seek(1)
            file.write(block[1:])
            file.seek(0)
            file.write(block[:1])


class Simulator:
    """The push simulator, which accepts the tokens of all phones."""

    def __init__(self, folder):
        self.folder = folder
        self.process = subprocess.Popen(
            [REVEILLE, "push-sim", "run", "--push-sim-data", str(folder), "--port", "0", "--sandbox-port", "0",
             "--fcm-port", "0", "--accept-unknown-tokens"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(lambda: any(folder.glob("*.json")), "the push simulator starts")

    def stop(self):
        self.process.terminate()
        self.process.wait(20)


# One user places all calls of the load.
LOADED = {"limits.stored_bytes_per_user": 1 << 36, "limits.call_bytes_per_user": 1 << 36, "limits.invites_per_user": 1000000}


def load(server):
    """Calls to groups of 120 devices, which make the server use its journal."""
    return subprocess.Popen(
        [REVEILLE, "load", "fanout", "--fanout", "120", "--members", "--duration", "10m", "--target", server.url,
         "--data", str(server.data), "--metrics-url", f"http://127.0.0.1:{server.metrics_port}/metrics"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Readiness:
    """Polls /readyz, and records the reasons."""

    def __init__(self, server):
        self.server, self.reasons, self.task = server, set(), asyncio.create_task(self.run())

    async def run(self):
        while True:
            status, text = await asyncio.to_thread(self.server.ready)
            if status != 200:
                self.reasons.add(f"{status} {text.strip()}")
            await asyncio.sleep(0.3)


class Kind:
    """A fault: its name in faults.c, how long it lasts at least, and what the server must say."""

    def __init__(self, name, seconds, *words):
        self.name, self.seconds, self.words = name, seconds, words


KINDS = {
    "disk-full": Kind("full", 5, "Free some space", "the store cannot be written", "checkpoints fail"),
    "read-only": Kind("read-only", 5, "mounted read-only", "the store cannot be written", "checkpoints fail"),
    "fdatasync-fails": Kind("sync-fails", 5, "a sync failed", "the store cannot be written", "checkpoints fail"),
    "write-stalls": Kind("stalls", 12, "the store does not answer"),
}
# A small tmpfs that is filled; needs root.
MEMORY = "a full tmpfs"
# Files that a commit without load does not write: the log names their fault only under load or at a checkpoint.
RARE = {"reveille.sqlite3", "reveille-journal.sqlite3", "reveille-journal.sqlite3-wal"}


class FullMemory:
    """A full disk with the interface of `Faults`: a tmpfs on the data folder, filled by a file."""

    environment = {}

    def __init__(self, folder):
        self.file = folder / "fill"
        folder.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "tmpfs", folder], check=True)

    def begin(self, *_):
        with open(self.file, "wb", buffering=0) as file:
            try:
                while file.write(bytes(65536)):
                    pass
            except OSError:
                pass

    def end(self):
        self.file.unlink(missing_ok=True)


def told(server, kind):
    """The error in the log that names the fault and says what to do; None while there is none."""
    for line in log_lines(server.log_path):
        if any(word in line for word in kind.words[1:] or kind.words) and kind.words[0] in line:
            return line
    return None


async def fault(server, faults, kind, name, seed, is_killed):
    """One fault while calls run. Returns the acknowledgements."""
    books = Books()
    phones = Phones(server, books, seed)
    background, readiness = load(server), None
    try:
        phones.start()
        await phones.progress(2, "before the fault")
        readiness = Readiness(server)
        faults.begin(kind.name, server.data, name)
        until = time.monotonic() + kind.seconds
        # A commit may wait for a rarely written file too briefly to count as a stall.
        is_told = name not in RARE or kind.name != "stalls"
        while time.monotonic() < until or is_told and not told(server, kind):
            phones.failed()
            expect(time.monotonic() < until + 60, f"the log does not say {kind.words}: {log_lines(server.log_path)}")
            await asyncio.sleep(0.2)
        if name not in RARE:
            reasons = " ".join(readiness.reasons)
            expect("503" in reasons and "store" in reasons, f"/readyz gives no reason: {readiness.reasons}")
        if is_killed:
            await asyncio.to_thread(server.kill)
            faults.end()
            await asyncio.to_thread(server.start)
        else:
            faults.end()
        await phones.progress(2, "after the fault")
        await phones.stop()
        await asyncio.to_thread(wait_for, lambda: server.ready()[0] == 200, "the server is ready after the fault")
        return books
    finally:
        if readiness:
            readiness.task.cancel()
        await phones.halt()
        background.terminate()
        background.wait()
        faults.end()


def start_during(server, faults, kind, name):
    """A start during the fault: the server runs, or ends with the reason and a status that is not 0."""
    faults.begin(kind.name, server.data, name)
    try:
        server.start()
    except NotStarted as failure:
        expect(failure.status > 0, f"the server ended by signal {-failure.status}: {failure.output[-1500:]}")
        words = failure.output.strip().splitlines()[-1]
        # The start first checks that the folder is writable, with an error message of its own. Of a file that cannot be
        # made SQLite does not say why.
        is_said = any(part in words for part in (kind.words[0], "cannot be written", "neither full nor"))
        expect(str(server.data) in words and is_said, f"a start does not say what is wrong: {words}")
        return "refused"
    finally:
        faults.end()
    server.stop()
    return "taken"


def run_fault(simulator, drill, name, seed, is_killed):
    kind, folder = KINDS[drill], f"{drill}-{seed}"
    faults = FullMemory(FOLDER / folder) if name == MEMORY else Faults(folder)
    server = Server(
        folder, LOADED, ["--push-sim", "--push-sim-data", str(simulator.folder)], faults.environment)
    began, starts = time.monotonic(), ""
    try:
        server.start()
        books = asyncio.run(fault(server, faults, kind, name, seed, is_killed))
        wait_for(lambda: "reveille_store_behind_records 0" in server.metrics(), "the tables have the journal")
        expect("reveille_store_checkpoints_failing 0" in server.metrics(), "checkpoints still fail after the fault")
        books.check(server, "after the fault", is_running=True)
        server.kill()
        if kind.name != "stalls":
            starts = f", a start during it is {start_during(server, faults, kind, name)}"
        server.start()
        books.check(server, "after a kill and a start", is_running=True)
        expect(server.stop() == 0, "the server did not stop cleanly")
        books.check(server, "after a stop")
    finally:
        server.end(signal.SIGKILL)
        if name == MEMORY:
            subprocess.run(["umount", "-l", server.data], check=True)
    refusals = sum(number for (code, _), number in books.refusals.items() if code == "overloaded")
    print(f"{drill} {name or 'all files'}{', killed' if is_killed else ''}: {time.monotonic() - began:.0f} s, "
          f"{len(books.calls)} calls, {len(books.reports)} push reports, {refusals} refusals, "
          f"slowest answer {books.slowest:.1f} s{starts}", flush=True)
    shutil.rmtree(server.data)


def run_faults(simulator, drill):
    """Each run takes the next file; every second one kills the server during the fault."""
    files = [*FILES, MEMORY] if drill == "disk-full" and os.geteuid() == 0 else FILES
    if drill == "fdatasync-fails":
        # The mark is not synced while the server runs.
        files = [name for name in files if name != "reveille.mark"]
    # The short form: one run, of two drills with a kill.
    runs = count(1)
    short = {
        "disk-full": (files[-1], False), "read-only": (WHOLE, True), "fdatasync-fails": (FILES[0], True),
        "write-stalls": (WHOLE, False)}
    for number in range(runs):
        name, is_killed = files[number % len(files)], (number + number // len(files)) % 2 == 1
        if runs == 1:
            name, is_killed = short[drill]
        run_fault(simulator, drill, name, number, is_killed)


def log_lines(path):
    """The messages at warning and above, and text that is no JSON, as texts."""
    lines = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            fields = json.loads(line)
        except ValueError:
            lines.append(line)
            continue
        if fields.get("level") in ("warning", "error", "critical"):
            lines.append(str({key: value for key, value in fields.items() if key not in ("time", "logger")}))
    return lines


# Damaged files

# Tables that a start changes or that hold no users' data, and columns that a start changes.
VOLATILE = {"settled", "sqlite_sequence", "sqlite_stat1", "grdb_migrations"}
VOLATILE_COLUMNS = {"lost_at", "next_probe_at", "probes"}
# The variants of each file in the short form.
SHORT = 2


# Each distinct row, kept once: most variants have the same rows.
ROWS = {}


def rows_of(connection, query):
    return [ROWS.setdefault(row, row) for row in connection.execute(query)]


def contents(database):
    """The rows of all tables, each with the id of its call if it has one, and what an integrity check says."""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    connection.text_factory = bytes
    tables = [name.decode() for name, in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    rows = {}
    for table in sorted(set(tables) - VOLATILE):
        columns = [row[1].decode() for row in connection.execute(f"PRAGMA table_info({table})")]
        kept = [column for column in columns if column not in VOLATILE_COLUMNS]
        call = "id" if table == "call" else "call" if "call" in columns else "NULL"
        rows[table] = rows_of(connection, f"SELECT {call}, {', '.join(kept)} FROM {table}")
    rows["call as invited"] = rows_of(
        connection, "SELECT NULL, id, caller_user, caller_device, callee, video, invite_digest, created_at FROM call")
    rows["live"] = [row[0] for row in connection.execute("SELECT id FROM call WHERE state <> 'ended'")]
    check = [row[0].decode() for row in connection.execute("PRAGMA integrity_check")]
    connection.close()
    return rows, check


def mutate(path, number, generator):
    """Changes a file, and returns what was done. Of ten numbers eight change a byte, 8 cuts the file, and 9 tears its
    last page."""
    data = bytearray(path.read_bytes())
    if number % 10 == 8:
        length = generator.randrange(len(data))
        path.write_bytes(data[:length])
        return f"cut to {length} of {len(data)} bytes"
    if number % 10 == 9 and len(data) > 4096:
        start = len(data) - 2048
        data[start:] = bytes(2048)
        path.write_bytes(data)
        return "the last page is torn"
    place, change = generator.randrange(len(data)), generator.randrange(1, 256)
    data[place] ^= change
    path.write_bytes(data)
    return f"byte {place} of {len(data)} xor {change:#x}"


def freeze(process):
    """Stops a process, and waits until no thread runs: its files are then those that a kill leaves."""
    process.send_signal(signal.SIGSTOP)
    tasks = pathlib.Path(f"/proc/{process.pid}/task")
    wait_for(
        lambda: all(state.read_text().rpartition(")")[2].split()[0] == "T" for state in tasks.glob("*/stat")),
        "the server is frozen")


def is_acknowledged(data):
    """Whether the last commit of a frozen server is in its mark. A kill during the sync of a commit leaves one that was
    not acknowledged, whose loss is not reported."""
    copy = FOLDER / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(data, copy, ignore=shutil.ignore_patterns("*.sock"))
    acknowledged, = struct.unpack_from("<q", (copy / "reveille.mark").read_bytes(), 40)
    commits = [0]
    for name, query in [
            ("reveille", "SELECT through FROM settled"), ("reveille-journal", "SELECT max(entry) FROM journal")]:
        connection = sqlite3.connect(f"file:{copy / name}.sqlite3?mode=ro", uri=True)
        commits += [number for number, in connection.execute(query) if number]
        connection.close()
    return max(commits) == acknowledged


def realistic_store(simulator):
    """Two data folders: of a server that was killed while calls ran, and of one that was stopped."""
    server = Server("realistic", LOADED, options=["--push-sim", "--push-sim-data", str(simulator.folder)])

    async def calls(seed, standing):
        phones = Phones(server, Books(), seed)
        phones.start()
        try:
            for number in range(standing):
                await phones.stand(number)
            await phones.progress(40 if count(SHORT) > 1 else 5, "realistic calls")
        finally:
            await phones.halt()

    def is_frozen_in_use():
        if "reveille_store_behind_records 0" in server.metrics():
            return False
        freeze(server.process)
        if is_acknowledged(server.data):
            return True
        server.process.send_signal(signal.SIGCONT)
        return False

    def run(seed, standing):
        """Kills the server while there is load and its last commit is acknowledged, and while no command reads the
        folder: it would apply the journal."""
        server.start()
        background = load(server)
        try:
            asyncio.run(calls(seed, standing))
            wait_for(is_frozen_in_use, "the server is frozen with its journal in use and its commits acknowledged", 120)
            server.kill()
        finally:
            # Its end takes seconds without a server.
            background.kill()
            background.wait()

    # The first run is merged into the database; the second is in the logs.
    run(3, 0)
    server.start()
    expect(server.stop() == 0, "the server did not stop cleanly")
    run(4, 4)
    killed, stopped = FOLDER / "killed", FOLDER / "stopped"
    shutil.copytree(server.data, killed, ignore=shutil.ignore_patterns("*.sock"))
    server.start()
    expect(server.stop() == 0, "the server did not stop cleanly")
    shutil.copytree(server.data, stopped, ignore=shutil.ignore_patterns("*.sock"))
    return killed, stopped


def is_reported(text):
    return any(word in text for word in ("damaged", "malformed", "may lack", "unreadable", "corrupt", "checksum"))


def start_damaged(server):
    """Waits until the server is ready, or reports at /readyz that its store is damaged. Raises NotStarted."""
    server.launch()

    def is_up():
        status, text = server.ready()
        if server.process.poll() is not None:
            raise NotStarted(server.process.poll(), server.output)
        return status == 200 or status == 503 and is_reported(text)

    wait_for(is_up, "the server is ready", 60)


def wait_for_page_check(server):
    wait_for(lambda: not re.search(r"^reveille_store_page_checks_total 0$", server.metrics(), re.M), "a page check")


def try_variant(pristine, name, number):
    """Damages one file of a copy and starts a server on it. Returns what was done, and for `judge` what was found."""
    generator = random.Random(f"{pristine.name} {name} {number}")
    server = Server("variant")
    shutil.rmtree(server.data, ignore_errors=True)
    shutil.copytree(pristine, server.data)
    what = f"{pristine.name} {name}, {mutate(server.data / name, number, generator)}"
    try:
        start_damaged(server)
    except NotStarted as failure:
        expect(failure.status > 0, f"{what}: the server ended by signal {-failure.status}:\n{failure.output[-1500:]}")
        last = failure.output.strip().splitlines()[-1] if failure.output.strip() else ""
        names_file = ".sqlite3" in last or "reveille.mark" in last
        expect(names_file, f"{what}: the server names no file: {failure.output}")
        return what, (last, None, None)
    except Wrong:
        raise Wrong(f"{what}: not ready: {server.ready()}, {log_lines(server.log_path)}")
    try:
        wait_for_page_check(server)
        told = " ".join(log_lines(server.log_path)) + server.ready()[1]
        try:
            return what, (told, *contents(server.data / "reveille.sqlite3"))
        except sqlite3.DatabaseError as error:
            return what, (told, None, [str(error)])
    finally:
        status = server.process.poll()
        expect(status is None, f"{what}: the server ended with {status}:\n{server.output[-1500:]}")
        server.kill()


def judge(attempt, expected):
    """Returns an outcome and details. `refused`, `reported` and `whole` are good. `undetectable`: a changed value that
    SQLite's integrity check does not find. `unreported`: damage that the check finds and the server does not report."""
    told, rows, check = attempt
    if check is None:
        return "refused", told
    if rows is None:
        return "reported" if is_reported(told) else "unreported", f"{check}; the server says: {told[:300]}"
    differing = {}
    for table, before in expected.items():
        now = rows[table]
        lost, doubled = before - set(now), len(now) - len(set(now))
        if lost or doubled:
            differing[table] = f"{len(lost)} rows lost or changed, {doubled} doubled, as {sorted(lost)[:1]}"
    if not differing and check == ["ok"]:
        return "whole", ""
    outcome = "reported" if is_reported(told) else "undetectable" if check == ["ok"] else "unreported"
    return outcome, f"{differing} {check[:2]}; the server says: {told[:300]}"


def reference(pristine):
    """The rows after an undamaged start."""
    server = Server("variant")
    shutil.rmtree(server.data, ignore_errors=True)
    shutil.copytree(pristine, server.data)
    server.start()
    wait_for_page_check(server)
    rows, check = contents(server.data / "reveille.sqlite3")
    expect(check == ["ok"], f"the undamaged store: {check}")
    server.kill()
    return rows


def flipped_bytes(simulator):
    variants = count(SHORT)
    # With one variant for each file, the files take turns, so that each kind of damage is tried.
    turns = itertools.cycle([[0], [8], [9]]) if variants == 1 else itertools.repeat(range(variants))
    for pristine in realistic_store(simulator):
        first = reference(pristine)
        files = [path.name for path in sorted(pristine.iterdir()) if path.name.startswith("reveille")
                 and path.suffix in (".sqlite3", ".sqlite3-wal", ".mark") and path.stat().st_size]
        attempts = {name: [try_variant(pristine, name, number) for number in next(turns)] for name in files}
        # Ignores rows that change with time: those of live calls, and those that differ between the references.
        last, live = reference(pristine), set(first.pop("live"))
        expected = {table: {row for row in set(rows) & set(last[table]) if row[0] not in live}
                    for table, rows in first.items()}
        for name in files:
            outcomes = collections.Counter()
            for what, attempt in attempts[name]:
                outcome, words = judge(attempt, expected)
                outcomes[outcome] += 1
                if os.environ.get("DRILL_VERBOSE"):
                    print("  ", outcome, what, words, flush=True)
                expect(outcome not in ("undetectable", "unreported"), f"{outcome}: {what}: {words}")
            print(f"flipped-bytes {pristine.name} {name}: " + ", ".join(
                f"{number} {outcome}" for outcome, number in sorted(outcomes.items())), flush=True)


def own_mounts():
    """Moves this process into its own mount namespace, for the tmpfs."""
    libc = ctypes.CDLL(None, use_errno=True)
    expect(libc.unshare(0x00020000) == 0, f"unshare: {os.strerror(ctypes.get_errno())}")
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)


def main():
    drills = sys.argv[1:] or [*KINDS, "flipped-bytes"]
    if os.geteuid() == 0:
        own_mounts()
    simulator = Simulator(FOLDER / "push-sim")
    try:
        for drill in drills:
            if drill in KINDS:
                run_faults(simulator, drill)
            elif drill == "flipped-bytes":
                flipped_bytes(simulator)
            else:
                raise Wrong(f"no drill {drill}")
    finally:
        simulator.stop()


main()
