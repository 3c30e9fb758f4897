"""Shared by the drills of a realm: PostgreSQL, the nodes, and a watch that polls their readiness.

Everything runs in namespaces of the drill's own (processes, network, mounts), and is gone when the drill ends.
"""

import collections
import http.client as http_client
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

from common import FOLDER, REVEILLE, ROOM, NotStarted, Server, Store, Wrong, expect, wait_for
from phones import SETTINGS

PROGRAMS = "/usr/lib/postgresql/15/bin"
# A private tmpfs: PostgreSQL runs as another user, who may not enter FOLDER.
RUN = pathlib.Path("/run/reveille-drill")
MARK = "DRILL_NAMESPACES"
# The longest time without a home after a crash.
TAKE_OVER = 5.0 + 2 * (ROOM - 1)


def enter_namespaces():
    """Starts this program again in namespaces of its own, and ends with its status. Returns inside of them."""
    if os.environ.get(MARK):
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/run"], check=True)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        return RUN.mkdir()
    expect(os.getuid() == 0, "the drills of a realm need root, for namespaces")
    done = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child", sys.executable, *sys.argv],
        env={**os.environ, MARK: "1"})
    sys.exit(done.returncode)


def run(*words, prefix=(), **options):
    done = subprocess.run([*prefix, *map(str, words)], capture_output=True, text=True, **options)
    expect(done.returncode == 0, f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stderr}")
    return done.stdout


class Postgres:
    """A cluster that listens on a Unix socket, and on `host` if there is one. Its folder is on a tmpfs.

    The nodes connect as the role `app`, and the drill as the superuser `reveille`.
    """

    def __init__(self, name, settings=(), host=None, size="2g", prefix=()):
        self.folder, self.host, self.prefix = RUN / name, host, list(prefix)
        self.data = self.folder / "data"
        self.folder.mkdir()
        run("mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", self.folder)
        run("chown", "postgres", self.folder)
        self.settings = [
            f"listen_addresses = '{host or ''}'", f"unix_socket_directories = '{self.folder}'", "max_connections = 60",
            "shared_buffers = 32MB", "max_wal_size = 32MB", "log_min_messages = warning", *settings]
        self.uri = f"postgres://app@/postgres?host={self.folder}"
        self.process, self.has_role = None, False

    def owner(self, *words):
        return ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *map(str, words)]

    def create(self):
        run(*self.owner(
            f"{PROGRAMS}/initdb", "-D", self.data, "-A", "trust", "-U", "reveille", "-E", "UTF8", "--locale=C",
            "--no-sync", "--wal-segsize=1"))
        self.configure(*self.settings)
        if self.host:
            with open(self.data / "pg_hba.conf", "a") as rules:
                rules.write("host all all all trust\nhost replication all all trust\n")
        return self

    def follow(self, primary, host):
        """Makes a synchronous standby of a running cluster, which it reaches at `host`."""
        run(*self.owner("pg_basebackup", "-h", primary.folder, "-U", "reveille", "-D", self.data, "-R"))
        self.configure(
            "listen_addresses = ''", f"unix_socket_directories = '{self.folder}'", "wal_receiver_timeout = 2s",
            "wal_retrieve_retry_interval = 500ms")
        # -R has named the socket there.
        with open(self.data / "postgresql.auto.conf", "a") as file:
            file.write(f"primary_conninfo = 'host={host} user=reveille application_name=second connect_timeout=2'\n")
        self.has_role = True
        self.start()
        primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'second'")
        primary.sql("SELECT pg_reload_conf()")
        wait_for(lambda: primary.sql("SELECT sync_state FROM pg_stat_replication") == "sync", "the standby follows")
        return self

    def configure(self, *lines):
        with open(self.data / "postgresql.conf", "a") as file:
            file.write("\n".join(lines) + "\n")

    def start(self):
        with open(FOLDER / f"{self.folder.name}.log", "ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *self.owner(f"{PROGRAMS}/postgres", "-D", self.data)], stdin=subprocess.DEVNULL,
                stdout=log, stderr=log)
        wait_for(lambda: subprocess.run([f"{PROGRAMS}/pg_isready", "-q", "-h", str(self.folder)]).returncode == 0,
                 "PostgreSQL accepts connections")
        if not self.has_role:
            self.sql("CREATE ROLE app LOGIN; GRANT CREATE ON DATABASE postgres TO app")
            self.has_role = True
        return self

    def sql(self, text):
        return run("psql", "-h", self.folder, "-U", "reveille", "-d", "postgres", "-Atqc", text, timeout=30).strip()

    def stop(self, mode="fast"):
        """As pg_ctl: `immediate` is like a crash."""
        self.process.send_signal({"fast": signal.SIGINT, "immediate": signal.SIGQUIT}[mode])
        self.process.wait(60)

    def send(self, kind):
        """Sends a signal to the server and all its processes."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for each in [pid, *map(int, children)]:
            try:
                os.kill(each, kind)
            except ProcessLookupError:
                pass


class Node(Server):
    """A server of a realm."""

    def join(self, seconds=60.0):
        """Starts the process, and waits until it is the home or a standby."""
        self.launch()
        deadline = time.monotonic() + seconds
        while True:
            status, text = self.ready()
            if status == 200 or status == 503 and "standby" in text:
                return self
            if self.process.poll() is not None:
                raise NotStarted(self.process.returncode, self.output)
            if time.monotonic() > deadline:
                raise Wrong(f"{self.name} neither serves nor stands by: {status} {text}\n{self.output[-2000:]}")
            time.sleep(0.02)

    @property
    def all_output(self):
        """The logs of all starts."""
        return "".join(
            (FOLDER / f"{self.name}-{number}.log").read_text(errors="replace")
            for number in range(1, self.starts + 1))


class Realm(Store):
    """The nodes of a realm, and their database. Clients reach the node that was ready last, or a balancer's port."""

    def __init__(self, database, names, simulator):
        self.database, self.data, self.simulator = database, database.uri, simulator
        self.nodes = [self.node(name, self.data) for name in names]
        self.watch = self.port = None

    def node(self, name, uri, settings=None, options=(), **place):
        return Node(
            name, {**SETTINGS, "calls.connect_seconds": 20, "sessions.resume_seconds": 20, **(settings or {})},
            ["--store", uri, "--push-sim", "--push-sim-data", str(self.simulator), "--node", name, *options], **place)

    def start(self, period=0.02):
        for node in self.nodes:
            node.data.mkdir()
            node.join()
        self.watch = Watch(self.nodes, period)
        self.watch.wait_home()
        return self

    def end(self):
        if self.watch:
            self.watch.stop()
        for node in self.nodes:
            if node.process and node.process.poll() is None:
                node.process.send_signal(signal.SIGCONT)
                node.kill()

    @property
    def home(self):
        return self.watch.home or self.nodes[0]

    @property
    def others(self):
        return [node for node in self.nodes if node is not self.home]

    @property
    def url(self):
        return f"ws://127.0.0.1:{self.port}" if self.port else self.home.url

    @property
    def http(self):
        return f"http://127.0.0.1:{self.port}" if self.port else self.home.http

    @property
    def epoch(self):
        return int(self.database.sql("SELECT epoch FROM reveille.lease"))

    def command(self, *arguments, **options):
        if arguments[0] == "token":
            return self.nodes[0].command(*arguments, **options)
        return super().command(*arguments, **options)

    def hand_over(self, node):
        """Returns the command's error; an empty text when it succeeded."""
        words = [REVEILLE, "handover", node.name, "--store", self.data]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return "" if done.returncode == 0 else done.stderr.strip() or f"status {done.returncode}"

    def expect_running(self):
        for node in self.nodes:
            expect(node.process.poll() is None, f"{node.name} has ended with {node.process.returncode}:\n"
                   f"{node.output[-2000:]}")


class Term:
    """The time in which a node answered that it is ready, as far as it is known."""

    def __init__(self, node, first):
        self.node, self.first, self.last_sent, self.last = node, first, first, first


class Watch:
    """Polls /readyz of each node."""

    def __init__(self, nodes, period):
        self.period, self.terms, self.home = period, [], None
        self.statuses, self.changed = {node: 0 for node in nodes}, threading.Condition()
        self.is_over = False
        self.threads = [threading.Thread(target=self.poll, args=[node], daemon=True) for node in nodes]
        for thread in self.threads:
            thread.start()

    def poll(self, node):
        term = None
        while not self.is_over:
            sent = time.monotonic()
            status = self.ask(node)
            now = time.monotonic()
            with self.changed:
                if status == 200:
                    if term is None:
                        term = Term(node, now)
                        self.terms.append(term)
                    term.last_sent, term.last = sent, now
                    # Of two, the later one.
                    if not any(other.first > term.first and other.last > now - 1 for other in self.terms):
                        self.home = node
                else:
                    term = None
                self.statuses[node] = status
                self.changed.notify_all()
            time.sleep(max(0, sent + self.period - time.monotonic()))

    @staticmethod
    def ask(node):
        connection = http_client.HTTPConnection(node.host, node.metrics_port, timeout=0.5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status
        except (OSError, http_client.HTTPException):
            return 0
        finally:
            connection.close()

    def wait_home(self, since=0.0, seconds=30.0, among=None, may_be_old=False):
        """Waits until a node of `among` is ready that was not so before `since`, unless it may be. Returns its term."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                for term in self.terms:
                    if (term.last if may_be_old else term.first) > since and (among is None or term.node in among):
                        return term
                expect(time.monotonic() < deadline, f"no home within {seconds} s: "
                       f"{ {node.name: status for node, status in self.statuses.items()} }")
                self.changed.wait(0.1)

    def expect_one_home(self, grace=0.0):
        """No two nodes were ready at the same moment, but for `grace` seconds."""
        with self.changed:
            terms = list(self.terms)
        for number, one in enumerate(terms):
            for other in terms[number + 1:]:
                both = min(one.last_sent, other.last_sent) - max(one.first, other.first)
                expect(one.node is other.node or both <= grace,
                       f"{one.node.name} and {other.node.name} were both ready for {both:.3f} s")

    def stop(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def summary(numbers: collections.Counter):
    return ", ".join(f"{number} {name}" for name, number in sorted(numbers.items()))
