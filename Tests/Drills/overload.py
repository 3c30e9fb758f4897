"""Offers three times the peak rate of calls: the server refuses most calls at once, and the others succeed in time.

A closed-loop load test measures the peak rate. An open-loop load test then starts calls at three times that rate.
COUNT is the duration of each load test in seconds.
"""

import json
import subprocess

from common import FOLDER, REVEILLE, count, expect

SECONDS = count(8)
# Bounds with a margin for a machine that runs other programs.
LEAST_GOODPUT = 0.8
LONGEST_MS = 500
MOST_MEMORY = 256 << 20


def load(*options):
    """The report of a load test."""
    report = FOLDER / "report.json"
    done = subprocess.run(
        [REVEILLE, "load", "online", "--duration", f"{SECONDS}s", "--json", str(report), *options],
        capture_output=True, text=True)
    expect(done.returncode in (0, 1), f"the load test ended with {done.returncode}: {done.stderr}{done.stdout}")
    return json.loads(report.read_text())


def rate(report):
    return report["figures"]["completed_per_second"]["value"]


def milliseconds(report, stage, percentile):
    return report["stages"][stage][percentile + "_us"] / 1000


peak = load("--concurrency", "200")
expect(peak["passed"], f"calls failed at the peak rate: {peak['failures']}")
top = rate(peak)
flood = load("--rate", str(round(3 * top)), "--places", str(min(6000, round(3 * top))))
goodput = rate(flood) / top
accepted = milliseconds(flood, "invite_ringing", "p99")
refused = flood["stages"].get("invite_refused")
memory = flood["figures"]["server_memory_after"]["value"]
print(
    f"overload: peak {top:.0f}/s, goodput at three times that {goodput:.2f}, p99 from invite to ringing {accepted:.0f} ms, "
    f"{refused['count'] if refused else 0} refused, p99 {refused['p99_us'] / 1000 if refused else 0:.0f} ms, "
    f"server {memory >> 20} MiB")
others = [failure for failure in flood["failures"] if "refused as overloaded" not in json.dumps(failure)]
print(others)
expect(flood["audit"] == "balanced", "the audit of the ledger failed")
expect(refused, "no call was refused")
expect(goodput >= LEAST_GOODPUT, f"goodput {goodput:.2f} is below {LEAST_GOODPUT}")
expect(accepted <= LONGEST_MS, f"accepted calls rang after {accepted:.0f} ms")
expect(memory <= MOST_MEMORY, f"the server has {memory >> 20} MiB")
