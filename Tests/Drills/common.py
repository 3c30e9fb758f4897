"""Shared by the drills: a server with its data folder and ports, and its commands.

Environment: REVEILLE, the program; DRILL_FOLDER, an empty folder; DRILL_COUNT, the argument COUNT, or empty;
DRILL_ROOM, the factor of ROOM.
"""

import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.error
import urllib.request

from ports import free_port
from reveille import Client

REVEILLE = os.environ["REVEILLE"]
FOLDER = pathlib.Path(os.environ["DRILL_FOLDER"])
# glibc fills memory with it when it is freed, and with its complement when it is allocated (mallopt(3)): what reads either
# fails each time.
PERTURBED = {"MALLOC_PERTURB_": "90"}
# The factor of the room that limits in seconds have: more than 1 beside other work, or with a debug build.
ROOM = float(os.environ.get("DRILL_ROOM") or 1)


def count(short):
    """COUNT, or `short` without one."""
    return int(os.environ.get("DRILL_COUNT") or short)


class Wrong(SystemExit):
    """A violation that the drill found."""

    def __init__(self, words):
        super().__init__(f"wrong: {words}")


def expect(condition, words):
    if not condition:
        raise Wrong(words)


def wait_for(condition, words, seconds=30.0):
    """Returns the condition's first true value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        expect(time.monotonic() < deadline, f"not within {seconds} s: {words}")
        time.sleep(0.05)
    return value


class NotStarted(Exception):
    """The server ended before it was ready. `status` is negative after a signal."""

    def __init__(self, status, output):
        super().__init__(f"the server ended with {status}:\n{output[-2000:]}")
        self.status, self.output = status, output


class Store:
    """The commands of `reveille` on a store: `data` is its folder, or the URI of its database."""

    def command(self, *arguments, may_fail=False, seconds=60.0):
        """Runs a command of `reveille` on the store, or on the server if `--server` is given. Returns its
        output."""
        words = [*map(str, arguments), *([] if "--server" in arguments else ["--data", str(self.data)])]
        done = subprocess.run([REVEILLE, *words], capture_output=True, text=True, timeout=seconds)
        if done.returncode != 0 and not may_fail:
            raise Wrong(f"reveille {' '.join(map(str, arguments))} ended with {done.returncode}: {done.stderr}")
        return done.stdout

    def show(self, *arguments):
        """Runs a command with `--output json`. Returns its document."""
        return json.loads(self.command(*arguments, "--output", "json"))

    def calls(self):
        """The calls of the store by id."""
        return {call["call_id"]: call for call in self.show("calls", "list", "--limit", "100000")["calls"]}


class Server(Store):
    """A server with a data folder. It keeps its port over restarts; each start has its own log file."""

    def __init__(self, name, settings=None, options=(), environment=None, host="127.0.0.1", prefix=()):
        """prefix: words before the server's command."""
        self.name, self.options, self.environment = name, list(options), environment or {}
        self.data, self.host, self.prefix = FOLDER / name, host, list(prefix)
        self.port, self.metrics_port = free_port(), free_port()
        self.url, self.http = f"ws://{host}:{self.port}", f"http://{host}:{self.port}"
        self.settings = {
            "listen.port": self.port, "metrics.listen": f"{host}:{self.metrics_port}", **(settings or {})}
        self.starts, self.process, self.log_path = 0, None, None

    def launch(self):
        """Starts the process and does not wait."""
        self.starts += 1
        self.log_path = FOLDER / f"{self.name}-{self.starts}.log"
        configuration = FOLDER / f"{self.name}.yaml"
        configuration.write_text("".join(f"{key}: {value}\n" for key, value in self.settings.items()))
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [*self.prefix, REVEILLE, "serve", "--data", str(self.data), "--config", str(configuration),
                 *self.options],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                env={**os.environ, **PERTURBED, **self.environment})

    def start(self, seconds=60.0):
        """Starts the process and waits until it is ready. Raises NotStarted."""
        self.launch()
        deadline = time.monotonic() + seconds
        while self.ready()[0] != 200:
            status = self.process.poll()
            if status is not None:
                raise NotStarted(status, self.output)
            if time.monotonic() > deadline:
                self.kill()
                raise Wrong(f"the server is not ready in {seconds} s:\n{self.output[-2000:]}")
            time.sleep(0.02)

    def ready(self):
        """The status of /readyz and its text with the reasons; 0 without an answer."""
        try:
            with urllib.request.urlopen(f"http://{self.host}:{self.metrics_port}/readyz", timeout=5) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError as error:
            return 0, str(error)

    def metrics(self):
        with urllib.request.urlopen(f"http://{self.host}:{self.metrics_port}/metrics", timeout=5) as response:
            return response.read().decode()

    @property
    def output(self):
        return self.log_path.read_text(errors="replace")

    @property
    def lines(self):
        """The log's lines of this start, as objects. Text that is no JSON has only the key `message`."""
        lines = []
        for line in self.output.splitlines():
            try:
                lines.append(json.loads(line))
            except ValueError:
                lines.append({"message": line})
        return lines

    def kill(self):
        self.end(signal.SIGKILL)

    def stop(self, seconds=30.0):
        """Returns the status."""
        return self.end(signal.SIGTERM, seconds)

    def end(self, kind, seconds=30.0):
        """Ends the process by its id, with a kill after `seconds`. Returns the status; None without a process."""
        if self.process is None:
            return None
        if self.process.poll() is None:
            self.process.send_signal(kind)
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise Wrong(f"the server did not end within {seconds} s:\n{self.output[-2000:]}")

    def token(self, user):
        return self.command("token", user).strip()

    def phone(self, token, **options):
        return Client(self.url, token, **options)
