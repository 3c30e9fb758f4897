"""Faults at random times, for the drill realm/nemesis: links, processes, the database and its synchronous standby."""

import asyncio
import collections
import random
import signal
import time

from realm_network import EDGE


class Nemesis:
    """Injects one fault after the other, some at the same time. The same seed gives the same faults."""

    MOST_AT_ONCE = 2

    def __init__(self, realm, wires, database, seed):
        self.realm, self.wires, self.database, self.random = realm, wires, database, random.Random(seed)
        self.began, self.counts, self.busy, self.tasks = time.monotonic(), collections.Counter(), set(), set()

    async def run(self, seconds):
        self.began = time.monotonic()
        kinds = [self.cut_one_way, self.cut, self.delay, self.lose, self.kill, self.pause, self.hand_over,
                 self.pause_database, self.cut_standby]
        try:
            while time.monotonic() < self.began + seconds:
                kind, gap, length = self.random.choice(kinds), self.random.uniform(0.5, 4), self.random.uniform(1, 8)
                node = self.random.choice(self.realm.nodes)
                link = self.wires.links[self.random.choice(list(self.wires.links))]
                number = self.random.random()
                if len(self.tasks) < self.MOST_AT_ONCE:
                    task = asyncio.create_task(kind(node, link, length, number))
                    self.tasks.add(task)
                    task.add_done_callback(self.tasks.discard)
                await asyncio.sleep(gap)
                for task in list(self.tasks):
                    if task.done():
                        task.result()
        finally:
            await asyncio.gather(*self.tasks)

    def note(self, kind, words):
        self.counts[kind] += 1
        print(f"  {time.monotonic() - self.began:6.1f} s  {kind}: {words}", flush=True)

    async def hold(self, what, begin, end, length):
        """One fault of a thing at a time."""
        if what in self.busy:
            return
        self.busy.add(what)
        try:
            begin()
            await asyncio.sleep(length)
        finally:
            end()
            self.busy.discard(what)

    # Links

    async def on_link(self, link, length, begin):
        await self.hold(link, begin, link.heal, length)

    async def cut_one_way(self, node, link, length, number):
        way = int(number * 2)
        self.note("cut one way", f"{link.name} from {link.namespaces[way]} for {length:.1f} s")
        await self.on_link(link, length, lambda: setattr(link.ways[way], "is_cut", True))

    async def cut(self, node, link, length, number):
        self.note("cut", f"{link.name} for {length:.1f} s")
        await self.on_link(link, length, lambda: [setattr(way, "is_cut", True) for way in link.ways])

    async def delay(self, node, link, length, number):
        delay = 0.02 + number * 0.3
        self.note("delay", f"{link.name} by {delay * 1000:.0f} ms each way for {length:.1f} s")
        await self.on_link(link, length, lambda: [
            (setattr(way, "delay", delay), setattr(way, "jitter", delay / 2)) for way in link.ways])

    async def lose(self, node, link, length, number):
        loss = 0.05 + number * 0.4
        self.note("loss", f"{link.name} loses {loss * 100:.0f} % for {length:.1f} s")
        await self.on_link(link, length, lambda: [setattr(way, "loss", loss) for way in link.ways])

    async def cut_standby(self, node, link, length, number):
        await self.cut(node, self.wires.links["db-db2"], length, number)

    # Processes

    async def kill(self, node, link, length, number):
        if node in self.busy:
            return
        self.busy.add(node)
        self.note("kill", f"{node.name}{self.role(node)}, back after {length / 2:.1f} s")
        await asyncio.to_thread(node.kill)
        await asyncio.sleep(length / 2)
        # It neither serves nor stands by while it does not reach the database: then it ends, and is started again, as
        # a service manager does.
        node.launch()
        self.busy.discard(node)

    async def pause(self, node, link, length, number):
        if node.process.poll() is not None:
            return
        self.note("pause", f"{node.name}{self.role(node)} for {length:.1f} s")
        await self.hold(node, lambda: node.process.send_signal(signal.SIGSTOP),
                        lambda: node.process.send_signal(signal.SIGCONT), length)

    async def hand_over(self, node, link, length, number):
        node = next((other for other in self.realm.nodes if other is not self.realm.home), node)
        error = await asyncio.to_thread(self.realm.hand_over, node)
        self.note("handover" if not error else "handover refused", f"to {node.name} {error}")

    async def pause_database(self, node, link, length, number):
        self.note("pause of PostgreSQL", f"for {length:.1f} s")
        await self.hold(self.database, lambda: self.database.send(signal.SIGSTOP),
                        lambda: self.database.send(signal.SIGCONT), length)

    def role(self, node):
        return ", the home," if self.realm.home is node else ""


LINKS = [("n1", "db"), ("n2", "db"), ("n1", EDGE), ("n2", EDGE), ("db", "db2")]
