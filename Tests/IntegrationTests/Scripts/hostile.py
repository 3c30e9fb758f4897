"""A simulated APNs over HTTP/2 that violates the protocol as the scenario says, until SIGUSR1.

    hostile.py CERTIFICATE KEY SCENARIO

Uses the frames of Debian's python3-h2 (hyperframe, hpack) and Python's ssl, without a state machine, which would
prevent violations. Prints its port. At SIGTERM it prints its report and ends: one JSON line for each request in order
of arrival, and one for itself:

    {"id": <apns-id>, "connection": 0, "fate": "accepted"}
    {"connections": 3, "violations": ["..."]}

Fates: `accepted` and `rejected`: a final response. `retryable`: a 5xx response. `unprocessed`: refused, or above the
last stream of a GOAWAY, so it may be sent again. `dark`: unknown to the client.
"""

import json
import os
import signal
import socket
import ssl
import struct
import sys
import threading
import time

from hpack import Decoder, Encoder
from hyperframe import frame as frames

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_STREAMS, WINDOW, TABLE_SIZE, FRAME_SIZE = 3, 4, 1, 5
HIGHEST = 2**31 - 1


class Request:
    def __init__(self, connection, stream, fields):
        self.stream = stream
        self.connection = connection.number
        self.id = dict(fields).get("apns-id")
        self.fate = "dark"
        self.is_open = True


class Connection:
    def __init__(self, server, sock, number, behaviour):
        self.server, self.sock, self.number, self.behaviour = server, sock, number, behaviour
        self.encoder, self.decoder = Encoder(), Decoder()
        self.inbox = b""
        self.block = None
        self.requests = []
        self.complete = []
        self.limits, self.unacknowledged = [HIGHEST], []
        self.last = None
        self.opened_at = time.monotonic()
        self.memory = {}

    def run(self):
        try:
            self.sock.settimeout(5)
            self.behaviour.opened(self)
            while self.read():
                self.behaviour.tick(self)
        except (OSError, ValueError):
            pass
        finally:
            self.sock.close()

    def read(self):
        self.sock.settimeout(0.02)
        try:
            data = self.sock.recv(65536)
        except TimeoutError:
            return True
        finally:
            self.sock.settimeout(5)
        self.inbox += data
        if self.inbox.startswith(PREFACE):
            self.inbox = self.inbox[len(PREFACE) :]
        while len(self.inbox) >= 9:
            frame, length = frames.Frame.parse_frame_header(memoryview(self.inbox[:9]))
            if len(self.inbox) < 9 + length:
                break
            frame.parse_body(memoryview(self.inbox[9 : 9 + length]))
            self.inbox = self.inbox[9 + length :]
            self.received(frame)
        return bool(data)

    def received(self, frame):
        if isinstance(frame, frames.HeadersFrame):
            self.block = (frame.stream_id, frame.data, "END_STREAM" in frame.flags)
        elif isinstance(frame, frames.ContinuationFrame):
            stream, data, is_last = self.block
            self.block = (stream, data + frame.data, is_last)
        elif isinstance(frame, frames.DataFrame):
            self.behaviour.data(self, frame)
            if "END_STREAM" in frame.flags:
                self.completed(frame.stream_id)
        elif isinstance(frame, frames.SettingsFrame):
            self.settings_received(frame)
        elif isinstance(frame, frames.PingFrame) and "ACK" not in frame.flags:
            self.send(frames.PingFrame(0, frame.opaque_data, flags=["ACK"]))
        elif isinstance(frame, frames.RstStreamFrame):
            self.close_stream(frame.stream_id)
        if self.block and "END_HEADERS" in frame.flags:
            (stream, data, is_last), self.block = self.block, None
            self.headed(stream, data)
            if is_last:
                self.completed(stream)

    def settings_received(self, frame):
        if "ACK" not in frame.flags:
            return self.send(frames.SettingsFrame(0, flags=["ACK"]))
        acknowledged = self.unacknowledged.pop(0)
        if MAX_STREAMS in acknowledged:
            self.limits.pop(0)
        if TABLE_SIZE in acknowledged:
            self.decoder.max_allowed_table_size = acknowledged[TABLE_SIZE]

    def headed(self, stream, block):
        request = Request(self, stream, self.decoder.decode(block))
        self.server.requests.append(request)
        self.requests.append(request)
        if sum(r.is_open for r in self.requests) > max(self.limits):
            self.server.violations.append(f"more than {max(self.limits)} streams on connection {self.number}")
        if self.last is not None and stream > self.last:
            request.fate = "unprocessed"

    def completed(self, stream):
        request = next(r for r in self.requests if r.stream == stream)
        self.complete.append(request)
        if self.last is None or stream <= self.last:
            (GOOD if self.server.is_good.is_set() else self.behaviour).request(self, request)

    def close_stream(self, stream):
        for request in self.requests:
            if request.stream == stream:
                request.is_open = False

    # Frames of a server.

    def send(self, *sent):
        self.sock.sendall(b"".join(frame.serialize() for frame in sent))

    def settings(self, values):
        self.unacknowledged.append(values)
        if MAX_STREAMS in values:
            self.limits.append(values[MAX_STREAMS])
        self.send(frames.SettingsFrame(0, values))

    def header_frame(self, stream, fields, ends=False):
        flags = ["END_HEADERS"] + (["END_STREAM"] if ends else [])
        return frames.HeadersFrame(stream, self.encoder.encode(fields), flags=flags)

    def answer(self, request, status=200, body=b"", fields=()):
        fields = [(":status", str(status)), ("apns-id", request.id)] + list(fields)
        self.send(self.header_frame(request.stream, fields, ends=not body))
        if body:
            self.send(frames.DataFrame(request.stream, body, flags=["END_STREAM"]))
        self.decided(request, status)

    def decided(self, request, status):
        request.fate = "accepted" if status == 200 else "retryable" if status >= 500 else "rejected"
        request.is_open = False

    def reset(self, request, code):
        self.send(frames.RstStreamFrame(request.stream, code))
        request.is_open = False
        if code == 7:
            request.fate = "unprocessed"

    def go_away(self, last, code=0, debug=b""):
        self.send(frames.GoAwayFrame(0, last, code, debug))
        if self.last is None or last < self.last:
            self.last = last
            for request in self.requests:
                if request.stream > last:
                    request.fate = "unprocessed"

    def cut(self, with_reset=False):
        raw = socket.socket(fileno=os.dup(self.sock.fileno()))
        if with_reset:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        # Without a TLS alert.
        os.close(self.sock.detach())
        raw.close()


class Good:
    has_alpn = True

    def opened(self, c):
        c.settings({MAX_STREAMS: 100})

    def data(self, c, frame):
        """Replenishes the flow-control windows."""
        if frame.flow_controlled_length:
            c.send(frames.WindowUpdateFrame(0, frame.flow_controlled_length))

    def request(self, c, request):
        c.answer(request)

    def tick(self, c):
        pass


GOOD = Good()


def scenario(base=Good, **attributes):
    """Turns a function that handles requests into a scenario."""

    def make(function):
        SCENARIOS[function.__name__] = type(function.__name__, (base,), {"request": function, **attributes})()
        return function

    return make


SCENARIOS = {}


# GOAWAY


def leave(c, request, *words):
    c.answer(request)
    if len(c.complete) == 10:
        for last, code, debug in words:
            c.go_away(request.stream if last is None else last, code, debug)


@scenario()
def goaway_plain(self, c, request):
    leave(c, request, (None, 0, b""))


@scenario()
def goaway_text(self, c, request):
    leave(c, request, (None, 11, b"too many of everything"))


@scenario()
def goaway_json(self, c, request):
    leave(c, request, (None, 0, b'{"reason":"Shutdown"}'))


@scenario()
def goaway_doubled(self, c, request):
    leave(c, request, (HIGHEST, 0, b""), (None, 0, b'{"reason":"Shutdown"}'))


@scenario()
def goaway_zero(self, c, request):
    """The first three connections process nothing; later ones work."""
    c.go_away(0) if c.number < 3 else c.answer(request)


@scenario()
def goaway_always(self, c, request):
    c.go_away(0)


class MidFlight(Good):
    """After the GOAWAY the first half of the open streams is answered, the second half is not."""

    def request(self, c, request):
        c.memory.setdefault("since", time.monotonic())

    def tick(self, c):
        if c.last is None and time.monotonic() - c.memory.get("since", HIGHEST) > 0.05:
            first = c.complete[: (len(c.complete) + 1) // 2]
            c.go_away(first[-1].stream)
            for request in first:
                c.answer(request)


SCENARIOS["goaway_midflight"] = MidFlight()


@scenario()
def goaway_unanswered(self, c, request):
    if len(c.complete) == 5:
        c.go_away(HIGHEST)
        c.cut()


# Streams that end early, or never


@scenario()
def refused(self, c, request):
    """Resets each request at its first attempt."""
    attempts = sum(r.id == request.id for r in c.server.requests)
    c.reset(request, 7) if attempts == 1 else c.answer(request)


@scenario()
def reset_codes(self, c, request):
    codes = [0, 1, 2, 3, 5, 8, 11, 13, 0xDEAD]
    c.reset(request, codes[len(c.complete) % len(codes)])


@scenario()
def silence(self, c, request):
    pass


@scenario()
def no_end(self, c, request):
    """A status without an end of stream: the result counts nevertheless."""
    request.fate = "accepted"
    c.send(c.header_frame(request.stream, [(":status", "200")]))


@scenario()
def unavailable(self, c, request):
    attempts = sum(r.id == request.id for r in c.server.requests)
    c.answer(request, 503, b'{"reason":"ServiceUnavailable"}') if attempts == 1 else c.answer(request)


# SETTINGS


class Limits(Good):
    """A limit of 100 streams, then 1, 0 and 10; one response in each tick."""

    STEPS = [(0.1, 1), (0.3, 0), (0.6, 10)]

    def request(self, c, request):
        c.memory.setdefault("waiting", []).append(request)

    def tick(self, c):
        waiting, step = c.memory.setdefault("waiting", []), c.memory.get("step", 0)
        for request in waiting[:4]:
            c.answer(request)
        del waiting[:4]
        if step < len(self.STEPS) and time.monotonic() - c.opened_at > self.STEPS[step][0]:
            c.settings({MAX_STREAMS: self.STEPS[step][1]})
            c.memory["step"] = step + 1


SCENARIOS["limits"] = Limits()


class Windows(Good):
    """A window of zero at first."""

    STEPS = [(0.1, 1), (0.2, 50), (0.3, 0), (0.4, 65535)]

    def opened(self, c):
        c.settings({MAX_STREAMS: 100, WINDOW: 0})

    def tick(self, c):
        step = c.memory.get("step", 0)
        if step < len(self.STEPS) and time.monotonic() - c.opened_at > self.STEPS[step][0]:
            c.settings({WINDOW: self.STEPS[step][1]})
            c.memory["step"] = step + 1


SCENARIOS["windows"] = Windows()


class Narrow(Good):
    """No HPACK table, the smallest frames, and a window of seven bytes at a time."""

    def opened(self, c):
        c.settings({MAX_STREAMS: 5, WINDOW: 7, TABLE_SIZE: 0, FRAME_SIZE: 16384})

    def data(self, c, frame):
        super().data(c, frame)
        if frame.flow_controlled_length and "END_STREAM" not in frame.flags:
            c.send(frames.WindowUpdateFrame(frame.stream_id, frame.flow_controlled_length))


SCENARIOS["narrow"] = Narrow()


@scenario(opened=lambda self, c: None)
def no_settings(self, c, request):
    pass


# Odd answers


@scenario()
def bytewise(self, c, request):
    body = b'{"reason":"BadDeviceToken"}'
    c.send(c.header_frame(request.stream, [(":status", "400")]))
    pieces = [frames.DataFrame(request.stream, body[i : i + 1]) for i in range(len(body))]
    c.send(*pieces, frames.DataFrame(request.stream, b"", flags=["END_STREAM"]))
    c.decided(request, 400)


def answer_in_pieces(c, request, fields, size):
    block = c.encoder.encode(fields, huffman=False)
    pieces = [frames.ContinuationFrame(request.stream, block[i : i + size]) for i in range(size, len(block), size)]
    pieces[-1].flags.add("END_HEADERS")
    c.send(frames.HeadersFrame(request.stream, block[:size], flags=["END_STREAM"]), *pieces)
    c.decided(request, 200)


@scenario()
def continuation(self, c, request):
    answer_in_pieces(c, request, [(":status", "200"), ("apns-id", request.id)], 10)


@scenario()
def continuation_flood(self, c, request):
    """nghttp2 accepts eight of them, since CVE-2024-28182."""
    answer_in_pieces(c, request, [(":status", "200"), ("apns-id", request.id)], 1)


@scenario()
def informational(self, c, request):
    for status in ["100", "103", "103"]:
        c.send(c.header_frame(request.stream, [(":status", status)]))
    c.answer(request)


@scenario()
def trailers(self, c, request):
    c.send(c.header_frame(request.stream, [(":status", "410")]))
    c.send(frames.DataFrame(request.stream, b'{"reason":"Unregistered","timestamp":1}'))
    c.send(c.header_frame(request.stream, [("x-checked", "yes")], ends=True))
    c.decided(request, 410)


@scenario()
def wrong_length(self, c, request):
    if len(c.complete) % 2:
        c.answer(request, 200, fields=[("content-length", "5")])
    else:
        c.answer(request, 400, b'{"reason":"BadDeviceToken"}', [("content-length", "3")])


@scenario()
def bad_status(self, c, request):
    head = [[(":status", "abc")], [("apns-id", request.id)], [(":status", "200"), ("Upper", "x")]]
    c.send(c.header_frame(request.stream, head[len(c.complete) % 3], ends=True))


@scenario()
def answered_twice(self, c, request):
    c.answer(request)
    c.answer(request, 400, b'{"reason":"BadDeviceToken"}')
    request.fate = "accepted"


@scenario()
def stranger(self, c, request):
    """Answers a stream that was never opened."""
    c.send(c.header_frame(request.stream + 1000, [(":status", "200")], ends=True))


@scenario()
def big_page(self, c, request):
    c.send(c.header_frame(request.stream, [(":status", "502"), ("content-type", "text/html")]))
    c.send(*[frames.DataFrame(request.stream, b"<p>" * 4000) for _ in range(2)])
    c.send(frames.DataFrame(request.stream, b"", flags=["END_STREAM"]))
    c.decided(request, 502)


@scenario()
def big_header(self, c, request):
    answer_in_pieces(c, request, [(":status", "200")] + [("x-page", "w" * 30000)] * 3, 16000)


@scenario()
def push_promise(self, c, request):
    block = c.encoder.encode([(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/")])
    c.send(frames.PushPromiseFrame(request.stream, 2, block, flags=["END_HEADERS"]))


# Broken connections


def at_fifth(break_off):
    def request(self, c, request):
        if len(c.complete) == 5:
            break_off(c)

    return request


def named(name, function):
    function.__name__ = name
    scenario()(function)


named("garbage", at_fifth(lambda c: c.sock.sendall(os.urandom(4096))))
named("long_frame", at_fifth(lambda c: c.sock.sendall(b"\xff\xff\xff\x00\x00\x00\x00\x00\x01" + b"x" * 4096)))
named("window_overflow", at_fifth(lambda c: c.send(*[frames.WindowUpdateFrame(0, HIGHEST)] * 2)))
named("tcp_reset", at_fifth(lambda c: c.cut(with_reset=True)))


@scenario()
def cut_in_frame(self, c, request):
    if len(c.complete) == 5:
        c.sock.sendall(frames.DataFrame(request.stream, b"x" * 50).serialize()[:20])
        c.cut()


@scenario(has_alpn=False)
def no_alpn(self, c, request):
    pass


@scenario(opened=lambda self, c: (c.sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), c.cut()))
def http1(self, c, request):
    pass


@scenario()
def drip(self, c, request):
    """One byte at a time, 10 ms apart."""
    for byte in c.header_frame(request.stream, [(":status", "200")], ends=True).serialize():
        c.sock.sendall(bytes([byte]))
        time.sleep(0.01)
    c.decided(request, 200)


# Floods


def flood(c, request, *sent):
    if len(c.complete) == 3:
        c.send(*sent)
    c.answer(request)


@scenario()
def ping_flood(self, c, request):
    flood(c, request, *[frames.PingFrame(0, b"xxxxxxxx")] * 20000)


@scenario()
def settings_flood(self, c, request):
    if len(c.complete) == 3:
        c.unacknowledged += [{}] * 20000
    flood(c, request, *[frames.SettingsFrame(0, {WINDOW: 65535})] * 20000)


@scenario()
def data_flood(self, c, request):
    c.send(c.header_frame(request.stream, [(":status", "200")]))
    c.send(*[frames.DataFrame(request.stream, b"")] * 5000)
    c.send(frames.DataFrame(request.stream, b"", flags=["END_STREAM"]))
    c.decided(request, 200)


class Server:
    def __init__(self, certificate, key, name):
        self.scenario = SCENARIOS[name]
        self.is_good, self.is_over = threading.Event(), threading.Event()
        self.requests, self.violations, self.connections = [], [], 0
        self.contexts = {}
        for has_alpn in [True, False]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            if has_alpn:
                context.set_alpn_protocols(["h2"])
            self.contexts[has_alpn] = context

    def behave(self):
        self.is_good.set()
        os.write(2, b"behaves\n")

    def run(self):
        signal.signal(signal.SIGUSR1, lambda *_: self.behave())
        signal.signal(signal.SIGTERM, lambda *_: self.is_over.set())
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        listener.settimeout(0.05)
        print(listener.getsockname()[1], flush=True)
        # Longer than any test.
        end = time.monotonic() + 120
        while not self.is_over.is_set() and time.monotonic() < end:
            try:
                sock, _ = listener.accept()
            except TimeoutError:
                continue
            number, self.connections = self.connections, self.connections + 1
            threading.Thread(target=self.serve, args=(sock, number), daemon=True).start()
        for request in self.requests:
            print(json.dumps({"id": request.id, "connection": request.connection, "fate": request.fate}))
        print(json.dumps({"connections": self.connections, "violations": self.violations}), flush=True)
        os._exit(0)

    def serve(self, sock, number):
        behaviour = GOOD if self.is_good.is_set() else self.scenario
        sock.settimeout(5)
        try:
            secured = self.contexts[behaviour.has_alpn].wrap_socket(sock, server_side=True)
        except OSError:
            return sock.close()
        secured.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        Connection(self, secured, number, behaviour).run()


Server(*sys.argv[1:]).run()
