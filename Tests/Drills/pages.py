"""Requests pages from 50 connections as fast as they come, while calls are made: the calls take as long as without.

The server has one core, the load generator and the flood have the others. Quiet and flooded load tests alternate. COUNT is the
number of pairs.
"""

import json
import os
import subprocess
import sys

from common import FOLDER, REVEILLE, Server, count, expect

PAIRS = count(3)
# Calls in a second: far below what the server can do, so that a call waits for no other.
RATE = 200
# The pages that a shard serves: a burst, and those of a second for each second.
BURST, PER_SECOND = 200, 1_000
# Of the times until ringing, each the least of its runs: the disk's delays differ more. Without a limit it is 2.
MOST_RATIO = 1.5

FLOOD = """
import asyncio, sys, time
port, end = int(sys.argv[1]), time.monotonic() + float(sys.argv[2])
request = b"GET /reveille.js HTTP/1.1\\r\\nHost: localhost\\r\\nAccept-Encoding: gzip\\r\\n\\r\\n"
served = 0
async def one():
    global served
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while time.monotonic() < end:
        writer.write(request)
        head = (await reader.readuntil(b"\\r\\n\\r\\n")).decode().lower()
        assert head.startswith("http/1.1 200"), head
        await reader.readexactly(int(head.split("content-length:")[1].split()[0]))
        served += 1
    writer.close()
async def all_of_them():
    await asyncio.gather(*(one() for _ in range(50)))
asyncio.run(all_of_them())
print(served)
"""


def ringing_us(server):
    """The median time from the invite until it rings."""
    report = FOLDER / "report.json"
    done = subprocess.run(
        [REVEILLE, "load", "online", "--target", server.url, "--data", str(server.data), "--threads", "1",
         "--duration", "3s", "--rate", str(RATE), "--json", str(report)], capture_output=True, text=True)
    expect(done.returncode == 0, f"the load test ended with {done.returncode}: {done.stderr}{done.stdout}")
    return json.loads(report.read_text())["stages"]["invite_ringing"]["p50_us"]


def drill(server):
    quiet, flooded, pages = [], [], []
    ringing_us(server)
    for _ in range(PAIRS):
        quiet.append(ringing_us(server))
        flood = subprocess.Popen(
            [sys.executable, "-c", FLOOD, str(server.port), "5"], stdout=subprocess.PIPE, text=True,
            preexec_fn=lambda: os.nice(19))
        flooded.append(ringing_us(server))
        pages.append(int(flood.communicate()[0]))
        expect(flood.returncode == 0, "the flood ended early")
    ratio = min(flooded) / min(quiet)
    print(
        f"pages: {RATE} calls/s ring after {min(quiet) / 1000:.2f} ms, beside {max(pages) / 5:.0f} pages/s "
        f"after {min(flooded) / 1000:.2f} ms: ratio {ratio:.2f}")
    expect(min(pages) >= 2 * PER_SECOND, f"the flood got {min(pages)} pages in 5 s, which is no flood")
    expect(max(pages) <= BURST + 5.5 * PER_SECOND, f"the server served {max(pages)} pages in 5 s")
    expect(ratio <= MOST_RATIO, f"a flood of page requests makes calls {ratio:.2f} times as slow")


cores = sorted(os.sched_getaffinity(0))
if len(cores) < 2:
    print("pages: left out, it needs two cores")
    sys.exit()
os.sched_setaffinity(0, cores[:1])
server = Server("pages", {"shards": 1})
server.start()
try:
    os.sched_setaffinity(0, cores[1:])
    drill(server)
finally:
    server.stop()
