"""Offers three times the peak throughput of calls: the server refuses most of them at once, and the others succeed in time.

The server shares one core with three programs that only compute, so it has a quarter of that core. The load generator has the
other cores. A closed-loop load test measures the peak throughput. An open-loop load test then starts calls at three times that
rate. COUNT is the duration of each load test in seconds. DRILL_MEMORY is the server's highest memory in MiB.
"""

import json
import os
import re
import subprocess
import sys

from common import FOLDER, REVEILLE, Server, count, expect

SECONDS = count(6)
MEMORY = int(os.environ.get("DRILL_MEMORY") or 256)
COMPETITORS = 3
# On the loopback interface a refusal costs about an eighth of a call, and three come with each call: 0.76 to 0.89 is left.
LEAST_GOODPUT = 0.6
LONGEST_RING_MS, LONGEST_REFUSAL_MS = 500, 500


def load(server, *options):
    """The report of a load test."""
    report = FOLDER / "report.json"
    done = subprocess.run(
        [REVEILLE, "load", "online", "--target", server.url, "--data", str(server.data), "--threads", "1",
         "--duration", f"{SECONDS}s", "--json", str(report), *options],
        capture_output=True, text=True)
    expect(done.returncode in (0, 1), f"the load test ended with {done.returncode}: {done.stderr}{done.stdout}")
    return json.loads(report.read_text())


def rate(report):
    return report["figures"]["completed_per_second"]["value"]


def milliseconds(report, stage):
    return report["stages"][stage]["p99_us"] / 1000


def resident(server):
    """The server's memory in MiB."""
    return int(float(re.search(r"^process_resident_memory_bytes (\S+)", server.metrics(), re.M)[1])) >> 20


def drill(server):
    peak = load(server, "--concurrency", "200")
    top = rate(peak)
    # More phones than calls at a time: a refused caller calls again at once.
    flood = load(server, "--rate", str(round(3 * top)), "--places", "800")
    expect("invite_refused" in flood["stages"], "no call was refused")
    goodput, memory = rate(flood) / top, resident(server)
    ring, refusal = milliseconds(flood, "invite_ringing"), milliseconds(flood, "invite_refused")
    print(
        f"overload: peak {top:.0f} calls/s; at three times that {flood['stages']['invite_refused']['count']} refused, "
        f"goodput {goodput:.2f}, p99 until ringing {ring:.0f} ms, until the refusal {refusal:.0f} ms, memory {memory} MiB")
    for report in (peak, flood):
        others = {words: number for words, number in report["failures"].items()
                  if not words.startswith(("invite: refused as overloaded", "not begun"))}
        expect(not others, f"calls failed: {others}")
        expect(report["audit"] == "balanced", f"the audit is {report['audit']}: {report['violations']}")
    expect(goodput >= LEAST_GOODPUT, f"goodput {goodput:.2f} is below {LEAST_GOODPUT}")
    expect(ring <= LONGEST_RING_MS, f"accepted calls ring after {ring:.0f} ms")
    expect(refusal <= LONGEST_REFUSAL_MS, f"calls are refused after {refusal:.0f} ms")
    expect(memory <= MEMORY, f"the server has {memory} MiB")


cores = sorted(os.sched_getaffinity(0))
if len(cores) < 2:
    print("overload: left out, it needs two cores")
    sys.exit()
os.sched_setaffinity(0, cores[:1])
server = Server("overload")
server.start()
competitors = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(COMPETITORS)]
try:
    os.sched_setaffinity(0, cores[1:])
    drill(server)
finally:
    for competitor in competitors:
        competitor.kill()
    server.stop()
