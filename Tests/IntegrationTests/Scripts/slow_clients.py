"""Slow clients that try to exhaust connections: HOST:PORT COUNT SECONDS [INTERVAL].

A third sends the head of a request slowly, a third sends the body of a report without a token slowly, and a third opens
a WebSocket without a session. Closed ones reconnect. Prints "ready" once all have connected. For a long run by hand:
slow_clients.py 127.0.0.1:7350 500 600 8
"""

import asyncio
import base64
import os
import resource
import sys
import time

HOST, PORT = sys.argv[1].rsplit(":", 1)
COUNT, SECONDS = int(sys.argv[2]), float(sys.argv[3])
INTERVAL = float(sys.argv[4]) if len(sys.argv) > 4 else 0.2
assert HOST.startswith("127."), "only ever against this machine"
END = time.monotonic() + SECONDS

HEAD = b"GET /metrics HTTP/1.1\r\nHost: h\r\nX-Slow: "
BODY = (
    b"POST /v1/pushes/018f2b0e-0000-7000-8000-000000000000/report HTTP/1.1\r\nHost: h\r\n"
    b"Content-Type: application/json\r\nContent-Length: 65000\r\n\r\n"
)


def upgrade():
    key = base64.b64encode(os.urandom(16))
    return (
        b"GET /v1/signal HTTP/1.1\r\nHost: h\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: reveille.v1\r\nSec-WebSocket-Key: " + key + b"\r\n\r\n"
    )


async def attack(number, began):
    while time.monotonic() < END:
        try:
            reader, writer = await asyncio.open_connection(HOST, int(PORT))
            kind = number % 3
            writer.write(HEAD if kind == 0 else BODY if kind == 1 else upgrade())
            began.set()
            while time.monotonic() < END and not reader.at_eof():
                # Reads the server's bytes, to detect its close.
                try:
                    await asyncio.wait_for(reader.read(4096), INTERVAL)
                except asyncio.TimeoutError:
                    pass
                if kind != 2:
                    writer.write(b" ")
                    await writer.drain()
            writer.close()
        except OSError:
            began.set()
        await asyncio.sleep(1)


async def main():
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(limit, COUNT + 100), limit))
    began = [asyncio.Event() for _ in range(COUNT)]
    tasks = []
    # One after the other: the server reads from each before the next, so that simultaneous ones do not fill it.
    for number in range(COUNT):
        tasks.append(asyncio.create_task(attack(number, began[number])))
        await began[number].wait()
    print("ready", flush=True)
    await asyncio.gather(*tasks)


asyncio.run(main())
