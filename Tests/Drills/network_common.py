"""Shared by the drills network and attack: clients on asyncio's streams, and attackers in processes of their own."""

import asyncio
import base64
import hashlib
import hmac
import json
import os
import random
import resource
import ssl
import struct
import subprocess
import sys
import time
import uuid

from common import FOLDER, ROOM, Server, expect

# A proxy's address. Limits by address apply to the addresses in its PROXY headers, and not to loopback addresses.
PROXY = "127.0.0.9"
LATEST_REPLY = 10
SERVERS = []
# The tasks that read. asyncio itself refers weakly to a task, and to the reader of a client's connection.
READERS = set()
# The attackers have the drill's, for tokens of their own.
SECRET = bytes.fromhex(os.environ.setdefault("DRILL_SECRET", os.urandom(32).hex()))
UPGRADE = (
    "GET /v1/signal HTTP/1.1\r\nHost: drill\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reveille.v1\r\n"
    "Sec-WebSocket-Key: ZHJpbGwgb2YgcmV2ZWlsbA==\r\n\r\n").encode()


class Gone(Exception):
    """The connection ended. `code` is that of the close frame; None without one."""

    def __init__(self, code=None):
        super().__init__(f"closed with {code}")
        self.code = code


class Refused(Exception):
    def __init__(self, error):
        super().__init__(json.dumps(error))
        self.code, self.data = error["data"]["code"], error["data"]


def token(user, secret=None, **claims):
    """A user's token, signed here with the server's secret: `reveille token` takes minutes for thousands."""
    def part(value):
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    claims = {"sub": user, "exp": int(time.time()) + 7200, **claims}
    text = part(b'{"alg":"HS256"}') + b"." + part(json.dumps(claims).encode())
    return (text + b"." + part(hmac.new(secret or SECRET, text, hashlib.sha256).digest())).decode()


class Socket:
    """A WebSocket on asyncio's streams, cheap enough for thousands."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, port, source=None, header=b"", tls=None):
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", port, local_addr=(source, 0) if source else None, ssl=None)
        try:
            if header:
                writer.write(header)
            if tls:
                await writer.start_tls(tls)
            writer.write(UPGRADE)
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in head:
                raise Gone(int(head.split()[1]))
            return cls(reader, writer)
        except BaseException as error:
            writer.transport.abort()
            if isinstance(error, asyncio.IncompleteReadError):
                raise Gone() from None
            raise

    def write(self, text, opcode=1):
        """A frame. Its mask is zero, so that the payload stays as it is."""
        size = len(text)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack(">H", size) if size < 65536 else (
            b"\xff" + struct.pack(">Q", size))
        self.writer.write(bytes([0x80 | opcode]) + length + b"\0\0\0\0" + text)

    async def frame(self):
        """The next text. Answers pings. Raises Gone."""
        try:
            while True:
                first, size = await self.reader.readexactly(2)
                if size > 125:
                    size = int.from_bytes(await self.reader.readexactly(2 if size == 126 else 8), "big")
                payload = await self.reader.readexactly(size)
                if first & 15 == 1:
                    return payload
                if first & 15 == 8:
                    raise Gone(int.from_bytes(payload[:2], "big") or None)
                if first & 15 == 9:
                    self.write(payload, 10)
        except (OSError, EOFError):
            raise Gone() from None

    def cut(self):
        self.writer.transport.abort()


class Phone:
    """One device. `on_event` gets each event's method and params."""

    def __init__(self, user, on_event=lambda method, params: None, push=None):
        self.user, self.token, self.device, self.on_event, self.push = (
            user, token(user), str(uuid.uuid4()), on_event, push)
        # opened: the result of the last session.open.
        self.socket = self.resume = self.reader = self.closed = self.opened = None
        self.seq = self.number = 0
        self.pending, self.calls, self.is_resumed = {}, [], False

    async def open(self, port, **options):
        """Connects and opens or resumes. Raises Refused, Gone and OSError."""
        self.socket = await Socket.connect(port, **options)
        params = {"token": self.token, "device": {"id": self.device, "platform": "ios" if self.push else "desktop"}}
        if self.push:
            params["push"] = self.push if isinstance(self.push, list) else [self.push]
        if self.resume:
            params["resume"] = {**self.resume, "last_seq": self.seq}
        self.closed = asyncio.get_running_loop().create_future()
        self.reader = asyncio.create_task(self.read())
        READERS.add(self.reader)
        self.reader.add_done_callback(READERS.discard)
        result = self.opened = await self.request("session.open", **params)
        self.is_resumed, self.calls = result["resumed"], {view["call_id"]: view for view in result["calls"]}
        if not self.is_resumed:
            self.seq = 0
        self.resume = {"session_id": result["session_id"], "token": result["resume"]["token"]}
        return self

    async def read(self):
        code = None
        try:
            while True:
                message = json.loads(await self.socket.frame())
                if "method" not in message:
                    answer = self.pending.pop(message["id"], None)
                    if answer is not None and not answer.done():
                        answer.set_result(message)
                elif "seq" in message["params"]:
                    self.seq = message["params"]["seq"]
                    self.send({"method": "session.ack", "params": {"seq": self.seq}})
                    self.on_event(message["method"], message["params"])
        except Gone as gone:
            code = gone.code
        finally:
            self.socket.cut()
            for answer in self.pending.values():
                if not answer.done():
                    answer.cancel()
            self.pending.clear()
            if not self.closed.done():
                self.closed.set_result(code)

    def send(self, message):
        self.socket.write(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def request(self, method, **params):
        self.number += 1
        answer = self.pending[self.number] = asyncio.get_running_loop().create_future()
        self.send({"id": self.number, "method": method, "params": params})
        done, _ = await asyncio.wait([answer], timeout=LATEST_REPLY)
        if not done:
            raise asyncio.TimeoutError(f"{self.user}: no reply to {method} in {LATEST_REPLY} s")
        if answer.cancelled():
            raise Gone(self.closed.result() if self.closed.done() else None)
        message = answer.result()
        if "error" in message:
            raise Refused(message["error"])
        return message["result"]

    async def invite(self, **params):
        """Places a call. Beside other work the server may be overloaded, and say when to call again."""
        deadline = time.monotonic() + LATEST_REPLY
        while True:
            try:
                return await self.request("call.invite", **params)
            except Refused as refused:
                if ROOM == 1 or refused.code != "overloaded" or time.monotonic() > deadline:
                    raise
                await asyncio.sleep(refused.data["retry_after_ms"] / 1000)

    def cut(self):
        if self.socket:
            self.socket.cut()


def memory(server):
    """The resident memory in MiB: now, and the highest since the last phase began."""
    with open(f"/proc/{server.process.pid}/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return int(lines["VmRSS"].split()[0]) / 1024, int(lines["VmHWM"].split()[0]) / 1024


def files(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def metric(server, name):
    """The sum over a metric's labels."""
    return sum(float(line.rsplit(" ", 1)[1]) for line in server.metrics().splitlines()
               if line.startswith((name + " ", name + "{")))


async def started(name, **settings):
    """A running server with SECRET."""
    server = made(name, **settings)
    await asyncio.to_thread(server.start)
    return server


def made(name, **settings):
    """A server with SECRET, to be started."""
    server = Server(name, {"calls.ring_seconds": 6, "sessions.resume_seconds": 20, **settings})
    SERVERS.append(server)
    server.data.mkdir()
    key = server.data / "client-token.key"
    key.touch(0o600)
    key.write_text(SECRET.hex() + "\n")
    return server


def certificate():
    """The settings of a server with TLS."""
    key, chain = FOLDER / "key.pem", FOLDER / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-subj", "/CN=localhost", "-keyout", str(key), "-out", str(chain)], check=True, capture_output=True)
    key.chmod(0o600)
    return {"tls.certificate": chain, "tls.key": key}


def trusting():
    """Its clients' context."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def attacker(kind, port, number, seconds, *arguments):
    """Runs the attack of this kind in another process, so that it does not slow the normal phones down."""
    return asyncio.create_subprocess_exec(
        sys.executable, sys.argv[0], "attack", kind, str(port), str(number), str(seconds), *arguments,
        stdout=asyncio.subprocess.PIPE, limit=1 << 20)


async def report(process):
    """The counters that the attacker prints."""
    output, _ = await process.communicate()
    expect(process.returncode == 0, f"the attacker ended with {process.returncode}")
    return json.loads(output)


async def with_servers(drill):
    """Ends the servers before the loop: they would connect again to what listens in it."""
    try:
        await drill()
    finally:
        for server in SERVERS:
            server.kill()


def main(drills, attacks):
    """Runs the drills that the arguments name, or all; as an attacker, one of `attacks`."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    if sys.argv[1:2] == ["attack"]:
        kind, port, number, seconds, *arguments = sys.argv[2:]
        return asyncio.run(attacks[kind](int(port), int(number), int(seconds), *arguments))
    random.seed(int(os.environ.get("DRILL_SEED") or 7))
    for name in sys.argv[1:] or drills:
        began = time.monotonic()
        print(f"{name}: {drills[name].__doc__}", flush=True)
        asyncio.run(with_servers(drills[name]))
        print(f"{name} ok: {time.monotonic() - began:.0f} s", flush=True)
