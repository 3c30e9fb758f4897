"""Calls over a server that is killed at random moments, and a receiver that must have each event.

Arguments: a folder for the server's data, the program `reveille`, and how often the server is killed.
"""

import asyncio
import base64
import http.server
import json
import os
import pathlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time

import standardwebhooks
import websockets
from ports import free_port
from reveille import Client, Closed, ReveilleError

FOLDER, REVEILLE, KILLS = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
DATA = FOLDER / "data"
WORKERS = 12
SECRETS = ["whsec_" + base64.b64encode(os.urandom(32)).decode() for _ in range(2)]
random.seed(7)


class Receiver(http.server.ThreadingHTTPServer):
    """Keeps what it takes. `moods` are further statuses, one of which it answers now and then."""

    request_queue_size = 128

    def __init__(self, secret, moods=()):
        super().__init__(("127.0.0.1", 0), Handler)
        self.secret, self.moods = standardwebhooks.Webhook(secret), moods
        self.lock, self.bodies, self.order, self.faults, self.tests = threading.Lock(), {}, [], [], 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/events"

    def handle_error(self, *_):
        """A connection that a killed server has left."""

    def take(self, headers, body):
        fields = {name.lower(): value for name, value in headers.items()}
        self.secret.verify(body, fields)
        event = json.loads(body)
        with self.lock:
            if event["type"] == "webhook.test":
                self.tests += 1
            elif self.moods and random.random() < 0.02:
                return random.choice(self.moods)
            elif fields["webhook-id"] in self.bodies:
                if self.bodies[fields["webhook-id"]] != body:
                    self.faults.append(f"{fields['webhook-id']} has two contents")
            else:
                self.bodies[fields["webhook-id"]] = body
                self.order.append(event)
        return 204


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            status = self.server.take(self.headers, body)
        except Exception as error:
            self.server.faults.append(f"{type(error).__name__}: {error}")
            status = 400
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Server:
    def __init__(self, configuration):
        self.configuration, self.starts = configuration, 0
        self.url = f"ws://127.0.0.1:{configuration['listen.port']}"
        (FOLDER / "reveille.yaml").write_text("".join(f"{key}: {value}\n" for key, value in configuration.items()))

    def start(self):
        self.starts += 1
        log = open(FOLDER / "server.log", "ab")
        self.process = subprocess.Popen(
            [REVEILLE, "serve", "--data", str(DATA), "--config", str(FOLDER / "reveille.yaml")], stderr=log)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.configuration["listen.port"])) == 0:
                    return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise SystemExit("the server does not start:\n" + (FOLDER / "server.log").read_text()[-2000:])

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)

    def command(self, *arguments, may_fail=False):
        return subprocess.run(
            [REVEILLE, *arguments, "--data", str(DATA)], check=not may_fail, capture_output=True, text=True).stdout


async def call(server, tokens, number, ended):
    """One call; it may fail with the server at any point."""
    caller, callee = (Client(server.url, token=tokens[number][side]) for side in (0, 1))
    async with caller, callee:
        call = await caller.invite(f"callee{number}", custom={"order": number})
        await callee.event("call.incoming", call)
        await callee.ringing(call)
        match random.randrange(4):
            case 0:
                await callee.decline(call)
            case 1:
                await caller.hangup(call)
            case _:
                await callee.answer(call)
                await caller.connected(call)
                await callee.connected(call)
                await asyncio.sleep(random.random() / 20)
                await caller.hangup(call)
        ended.append(call)


async def work(server, tokens, number, ended, stopping):
    while not stopping.is_set():
        try:
            await asyncio.wait_for(call(server, tokens, number, ended), 8)
        except (Closed, ReveilleError, OSError, asyncio.TimeoutError, websockets.WebSocketException):
            await asyncio.sleep(0.05)


async def run(server, tokens):
    ended, stopping = [], asyncio.Event()
    workers = [asyncio.create_task(work(server, tokens, number, ended, stopping)) for number in range(WORKERS)]
    for _ in range(KILLS):
        await asyncio.sleep(0.3 + random.random())
        await asyncio.to_thread(server.kill)
        await asyncio.to_thread(server.start)
    await asyncio.sleep(1)
    stopping.set()
    await asyncio.gather(*workers)
    return ended


def expect(condition, words):
    if not condition:
        raise SystemExit(f"wrong: {words}")


def wait_for(condition, words, seconds=120):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, words)
        time.sleep(0.1)


def check(receiver, calls, kinds=None):
    """Each call's events, in order, with no gap, and none missing."""
    expect(not receiver.faults, receiver.faults[:3])
    by_call = {}
    for event in receiver.order:
        if "call" in event["data"]:
            by_call.setdefault(event["data"]["call"]["call_id"], []).append(event)
    for call in calls:
        events = by_call.get(call["call_id"], [])
        names = [event["type"] for event in events]
        numbers = [event["data"]["seq"] for event in events]
        steps = [
            ("call.invited", "created_at"), ("call.ringing", "ringing_at"), ("call.answered", "answered_at"),
            ("call.connected", "connected_at"), ("call.ended", "ended_at"),
        ]
        expected = [name for name, at in steps if call.get(at) and (kinds is None or name in kinds)]
        told = [name for name in names if name in dict(steps)]
        expect(told == expected, f"{call['call_id']}: {names}, expected {expected}")
        if kinds is None:
            expect(numbers == list(range(1, len(numbers) + 1)), f"{call['call_id']}: numbers {numbers}")
        if call.get("ended_at"):
            last = [event for event in events if event["type"] == "call.ended"][0]["data"]["call"]
            told = {key: value for key, value in call.items() if key != "counts"}
            expect(last == told, f"{call['call_id']}: the event says {last}, the API {told}")
    return len(receiver.order)


def main():
    whole, some = Receiver(SECRETS[0], moods=(500, 503, 429)), Receiver(SECRETS[1])
    endpoints = FOLDER / "webhooks.yaml"
    # Both secrets sign; each receiver knows one of them.
    endpoints.write_text(
        f"- name: whole\n  url: {whole.url}\n  secrets: [{SECRETS[1]}, {SECRETS[0]}]\n"
        f"- name: ends\n  url: {some.url}\n  secrets: {SECRETS[1]}\n  events: call.ended\n")
    endpoints.chmod(0o600)
    server = Server(
        {"listen.port": free_port(), "metrics.listen": f"127.0.0.1:{free_port()}", "webhooks.file": endpoints})
    server.start()
    try:
        calls_and_kills(server, whole, some)
        server.stop()
    finally:
        server.kill()


def calls_and_kills(server, whole, some):
    tokens = [
        [server.command("token", f"{side}{number}").strip() for side in ("caller", "callee")]
        for number in range(WORKERS)]
    expect("answered 204" in server.command("webhooks", "test", "whole"), "the test message is not taken")
    expect(whole.tests == 1, "the test message came to nobody")

    ended = asyncio.run(run(server, tokens))
    # Calls whose caller was cut off end after their resume window; end them now.
    for call in json.loads(server.command("calls", "list", "--live", "--limit", "1000", "--output", "json"))["calls"]:
        # It may have ended meanwhile.
        server.command("calls", "end", call["call_id"], "--yes", may_fail=True)

    def backlog():
        server.command("webhooks", "resume", "whole")
        view = json.loads(server.command("webhooks", "list", "--output", "json"))
        return sum(endpoint["backlog"] for endpoint in view["endpoints"])

    wait_for(lambda: backlog() == 0, "the backlog does not empty")
    listed = server.command("calls", "list", "--limit", "100000", "--output", "json")
    calls = json.loads(listed)["calls"]
    expect(set(ended) <= {call["call_id"] for call in calls}, "an acknowledged call is missing in the store")
    expect(all(call.get("ended_at") for call in calls), "a call has not ended")
    events = check(whole, calls)
    check(some, calls, {"call.ended"})
    expect({event["type"] for event in some.order} == {"call.ended"}, "an event was sent that was not asked for")

    # A replay sends the same again.
    before = len(whole.order)
    server.command("webhooks", "replay", "ends", "--since", "1d")
    wait_for(lambda: backlog() == 0, "the replay does not end")
    check(some, calls, {"call.ended"})
    expect(len(whole.order) == before, "the replay of one endpoint sent new events to another")
    print(f"webhooks ok: {KILLS} kills, {len(calls)} calls, {len(ended)} of them without a fault, {events} events")


main()
