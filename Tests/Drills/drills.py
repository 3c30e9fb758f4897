"""Runs drills by their names. `run` describes the arguments."""

import collections
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

DRILLS = pathlib.Path("Tests/Drills")
BUILDS = {"debug": [], "release": ["-c", "release"]}
# The most drills at a time in `smoke`. Most of them wait more than they compute.
AT_A_TIME = 4
# No drill of `smoke` takes a quarter of it on an idle machine.
SMOKE_SECONDS = 300
# The factor of limits in seconds in `smoke`: drills run beside each other and other work.
SMOKE_ROOM = 3
# What the drills of a realm start.
REALM_PROGRAMS = ["unshare", "ip", "haproxy", "/usr/lib/postgresql/15/bin/postgres"]

# `full` is COUNT for a release, and `smoke` that in `smoke`; without it a drill is not part of `smoke`, which begins with the
# drills that take longest. `all` runs the drills whose limits the debug build keeps.
Drill = collections.namedtuple("Drill", "name full smoke build", defaults=[None, "debug"])
TABLE = [
    Drill("network/half-open", 200, 8),
    Drill("network/slow-handshakes", 3000, 100),
    Drill("store/flipped-bytes", 50, 1),
    Drill("kill", 200, 4),
    Drill("store/write-stalls", 12, 1),
    Drill("realm/kill", 20, 1, "release"),
    Drill("attack/inputs", 5, 2, "release"),
    Drill("attack/shares", 10, 2, "release"),
    Drill("attack/answers", 5, 1, "release"),
    Drill("network/floods", 500, 20),
    Drill("store/disk-full", 14, 1),
    Drill("store/read-only", 12, 1),
    Drill("store/fdatasync-fails", 10, 1),
    Drill("network/reconnect", 5000, 200),
    Drill("network/slow-readers", 300, 15),
    Drill("realm/stop", 10, None, "release"),
    Drill("realm/database", 60, None, "release"),
    Drill("realm/race", 20, None, "release"),
    Drill("realm/handover", 20, None, "release"),
    Drill("realm/leave", 20, None, "release"),
    Drill("realm/half-open", 10, None, "release"),
    Drill("realm/nemesis", 600, None, "release"),
    Drill("overload", 20, None, "release"),
    Drill("pages", 3, None, "release"),
]


def program(build):
    """Makes the build, unless REVEILLE names a program."""
    if os.environ.get("REVEILLE"):
        return os.environ["REVEILLE"]
    subprocess.run(
        ["swift", "build", "-q", "--ignore-lock", "--product", "reveille", *BUILDS[build]], check=True)
    return str(pathlib.Path(f".build/{build}/reveille").absolute())


# Runs that have not ended.
RUNS = set()


class Run:
    """A run of a drill in a session of its own, so that it leaves no process behind, and with a folder of its own."""

    def __init__(self, drill, count, reveille, is_quiet=False, room=1):
        self.name, self.began = f"{drill.name} {count}", time.monotonic()
        self.folder = tempfile.TemporaryDirectory(prefix="drill-", ignore_cleanup_errors=True)
        self.output = tempfile.TemporaryFile("w+", errors="replace") if is_quiet else None
        file, _, part = drill.name.partition("/")
        environment = {
            "PYTHONPATH": f"Resources/clients/python:{DRILLS}:Tests", "PYTHONDONTWRITEBYTECODE": "1",
            "REVEILLE": reveille, "DRILL_FOLDER": self.folder.name, "DRILL_COUNT": str(count or ""),
            "DRILL_ROOM": os.environ.get("DRILL_ROOM") or str(room)}
        self.process = subprocess.Popen(
            [sys.executable, str(DRILLS / f"{file}.py"), *([part] if part else [])], env={**os.environ, **environment},
            stdin=subprocess.DEVNULL, stdout=self.output, stderr=self.output and subprocess.STDOUT,
            start_new_session=True)
        RUNS.add(self)

    @property
    def seconds(self):
        return time.monotonic() - self.began

    def end(self):
        """Ends the drill's processes. Returns whether the drill had succeeded."""
        status = self.process.poll()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.folder.cleanup()
        RUNS.discard(self)
        return status == 0

    def report(self):
        """Ends the drill, and prints a line; if it has failed, also its output. Returns whether it succeeded."""
        is_ok, seconds = self.end(), self.seconds
        self.output.seek(0)
        told = "ok" if is_ok else f"FAILED, status {self.process.returncode}:\n{self.output.read().rstrip()}"
        print(f"{seconds:6.0f} s  {self.name} {told}", flush=True)
        return is_ok


def run_in_turn(drills, count, build):
    """Runs drills with their output, up to the first that fails."""
    reveille = program(build)
    for drill in drills:
        run = Run(drill, count, reveille)
        run.process.wait()
        if not run.end():
            sys.exit(1)


def run_smoke():
    """Runs the drills of `smoke`, AT_A_TIME of them at a time."""
    reveille, began = program("debug"), time.monotonic()
    has_realm = os.geteuid() == 0 and all(map(shutil.which, REALM_PROGRAMS))
    without = "" if has_realm else f"; without realm/kill, which needs root and {', '.join(REALM_PROGRAMS)}"
    waiting = [drill for drill in TABLE if drill.smoke and (has_realm or not drill.name.startswith("realm/"))]
    failed = []
    while waiting or RUNS:
        while waiting and len(RUNS) < AT_A_TIME:
            drill = waiting.pop(0)
            Run(drill, drill.smoke, reveille, is_quiet=True, room=SMOKE_ROOM)
        time.sleep(0.1)
        for run in list(RUNS):
            if run.process.poll() is None and run.seconds < SMOKE_SECONDS:
                continue
            if not run.report():
                failed.append(run.name)
    print(f"drills {f'failed: {failed}' if failed else 'ok'} in {time.monotonic() - began:.0f} s{without}")
    sys.exit(bool(failed))


def main():
    name, *rest = sys.argv[1:] or [""]
    named = [drill for drill in TABLE if drill.name == name or drill.name.startswith(name + "/")]
    if name == "all" and not rest:
        run_in_turn([drill for drill in TABLE if drill.build == "debug"], None, "debug")
    elif name == "smoke" and not rest:
        run_smoke()
    elif name == "list" and not rest:
        print("\n".join(f"{drill.name} {drill.full}" for drill in TABLE))
    elif named and len(rest) < 2 and all(count.isdecimal() for count in rest):
        run_in_turn(named, rest and rest[0], "release")
    else:
        print(f"Tests/Drills/run: no drill {' '.join([name, *rest])}; see its first lines", file=sys.stderr)
        sys.exit(64)


signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
try:
    main()
finally:
    for run in list(RUNS):
        run.end()
