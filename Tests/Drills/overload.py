"""Three times the peak rate of calls: most calls are refused at once, the others go on as before.

The peak rate is measured first, with calls in a closed loop. Then calls begin at three times that rate, whatever the server
answers. DRILL_COUNT is the length of each measurement in seconds.
"""

import json
import subprocess

from common import FOLDER, REVEILLE, count, expect

SECONDS = count(8)
# Shares of the peak rate, and times: those of the article Performance, with room for a machine that others use.
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
