"""Network namespaces for the drill realm/nemesis, with links between them that can be cut, slow and lossy.

A link is a pair of TUN devices, and a thread that forwards their packets: not every kernel has netem.
"""

import ctypes
import fcntl
import heapq
import json
import os
import pathlib
import random
import select
import socket
import struct
import subprocess
import threading
import time

from common import FOLDER
from ports import free_port
from realm_common import run

CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
EDGE = "edge"


def inside(namespace):
    """Words before a command that runs in the namespace. EDGE is the drill's own."""
    return [] if namespace == EDGE else ["nsenter", f"--net=/run/netns/{namespace}"]


def make_namespaces(*names):
    for name in names:
        run("ip", "netns", "add", name)
        run("ip", "link", "set", "lo", "up", prefix=inside(name))


def ports(packet):
    """The ports of a packet of TCP over IPv4; none of another."""
    if packet[0] >> 4 != 4 or packet[9] != socket.IPPROTO_TCP:
        return ()
    return struct.unpack_from("!HH", packet, (packet[0] & 15) * 4)


class Way:
    """One direction of a link. Packets keep their order."""

    def __init__(self, source, target):
        self.source, self.target, self.last = source, target, 0.0
        self.heal()

    def heal(self):
        self.is_cut, self.loss, self.delay, self.jitter = False, 0.0, 0.0, 0.0
        # The port of the one TCP connection that is cut.
        self.cut_port = None


class Link:
    """A link between two namespaces, with an address for each end."""

    def __init__(self, number, one, other):
        self.name, self.number, self.namespaces = f"{one}-{other}", number, (one, other)
        self.addresses = {one: f"10.77.{number}.1", other: f"10.77.{number}.2"}
        ends = [self.device(each) for each in self.namespaces]
        self.ways = [Way(*ends), Way(*reversed(ends))]

    def device(self, namespace):
        name = f"tun{self.number}"
        before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        if namespace != EDGE:
            target = os.open(f"/run/netns/{namespace}", os.O_RDONLY)
            enter(target)
            os.close(target)
        try:
            device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
            fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
        finally:
            enter(before)
            os.close(before)
        peer = next(address for each, address in self.addresses.items() if each != namespace)
        run("ip", "addr", "add", self.addresses[namespace], "peer", peer, "dev", name, prefix=inside(namespace))
        run("ip", "link", "set", name, "up", prefix=inside(namespace))
        return device

    def heal(self):
        for way in self.ways:
            way.heal()


def enter(namespace):
    """Moves this thread to a network namespace, given by its file."""
    if ctypes.CDLL(None, use_errno=True).setns(namespace, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Wires(threading.Thread):
    """Forwards the packets of all links."""

    def __init__(self, pairs, seed):
        super().__init__(daemon=True)
        self.links = {f"{one}-{other}": Link(number, one, other) for number, (one, other) in enumerate(pairs, 1)}
        self.random, self.is_over, self.queue, self.packets = random.Random(seed), False, [], 0

    def run(self):
        ways = {way.source: way for link in self.links.values() for way in link.ways}
        poll = select.poll()
        for source in ways:
            poll.register(source, select.POLLIN)
        while not self.is_over:
            now = time.monotonic()
            wait = min(0.1, max(0.0, self.queue[0][0] - now)) if self.queue else 0.1
            for source, _ in poll.poll(wait * 1000 + (0.5 if self.queue else 0)):
                self.take(ways[source])
            now = time.monotonic()
            while self.queue and self.queue[0][0] <= now:
                _, _, target, packet = heapq.heappop(self.queue)
                self.write(target, packet)

    def take(self, way):
        for _ in range(64):
            try:
                packet = os.read(way.source, 4096)
            except OSError:
                return
            self.packets += 1
            if way.is_cut or way.cut_port in ports(packet) or way.loss and self.random.random() < way.loss:
                continue
            due = time.monotonic() + way.delay + self.random.random() * way.jitter
            # In order, also at the end of a delay.
            if due <= way.last or way.delay:
                way.last = due = max(due, way.last)
                heapq.heappush(self.queue, (due, self.packets, way.target, packet))
            else:
                self.write(way.target, packet)

    @staticmethod
    def write(target, packet):
        try:
            os.write(target, packet)
        except OSError:
            pass

    def stop(self):
        self.is_over = True
        self.join()


class Balancer:
    """HAProxy. It sends clients to the node that is ready, and connects the nodes to the push simulator."""

    def __init__(self, nodes, namespaces, simulator):
        self.port = free_port()
        servers = "".join(
            f"    server {node.name} {node.host}:{node.port} check\n" for node in nodes)
        manifest = json.loads((pathlib.Path(simulator) / "push-sim.json").read_text())
        pushes = "".join(
            f"listen push-{namespace}-{each['port']}\n    mode tcp\n    timeout client 1h\n    timeout server 1h\n"
            f"    bind 127.0.0.1:{each['port']} namespace {namespace}\n    server simulator 127.0.0.1:{each['port']}\n"
            for namespace in namespaces for each in manifest["endpoints"])
        self.file = FOLDER / "haproxy.cfg"
        self.file.write_text(
            "global\n    maxconn 4000\n"
            "defaults\n    timeout connect 1s\n    timeout client 1h\n    timeout server 1h\n    timeout tunnel 1h\n"
            "    timeout check 500ms\n"
            "listen clients\n    mode http\n"
            f"    bind 127.0.0.1:{self.port}\n    option httpchk GET /readyz\n    option forwardfor\n"
            "    default-server inter 300ms fall 1 rise 1 on-marked-down shutdown-sessions\n"
            f"{servers}{pushes}")
        with open(FOLDER / "haproxy.log", "wb") as log:
            self.process = subprocess.Popen(
                ["haproxy", "-db", "-f", str(self.file)], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def stop(self):
        self.process.kill()
        self.process.wait()
