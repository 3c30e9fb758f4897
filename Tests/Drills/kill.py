"""Kills the server at random moments under load, and compares what it acknowledged with its state after each start.

COUNT is the number of kills. A quarter of them hit a server that is still starting. Between kills, connections are cut
and sessions resumed. The clients record what the server tells them. The drill checks:

- Each acknowledged invite, answer, decline and hang-up is stored after each start, with its reason and its party.
- No call is live after a client was told that it ended. No client sees a state go backwards, over any number of kills.
- The events of a session have no gap and no repetition, also after a resume.
- Each push is for a call that the server knows, arrives at most once per device and call, and gets a final status.
"""

import asyncio
import os
import random
import urllib.error

from common import NotStarted, Server, count, expect
from phones import RANKS, SETTINGS, Books, Simulator, compare, fetch, traffic

KILLS = count(12)
WORKERS = 16 if KILLS > 4 else 8
SEED = int(os.environ.get("DRILL_SEED") or 7)


def examine(books, server, phones):
    """Compares the records with a server that has just started. Returns false when the server could not be reached."""
    floors = {call: (books.entries[call].floor, books.entries[call].end) for call in books.touched}
    ended = {call for call, entry in books.entries.items() if entry.end}
    live = [view["call_id"] for view in server.show("calls", "list", "--live", "--limit", "100000")["calls"]]
    for call in live:
        expect(call in books.entries, f"the server has a call that nobody placed: {call}")
        books.expect(call not in ended, books.entries[call], "it is live after a client was told its end")
    for call, (floor, end) in floors.items():
        entry = books.entries[call]
        caller = phones[entry.caller]
        try:
            view = fetch(f"{server.http}/v1/calls/{call}?device={caller.device}", caller.token, "GET")
        except urllib.error.HTTPError as error:
            books.expect(error.code == 503 or not entry.invited, entry, f"{error.code} for it after a start")
            continue
        entry.note("HTTP", f"{view['state']} {view.get('reason', '')}")
        books.numbers["calls looked up after starts"] += 1
        books.expect(
            RANKS[view["state"]] >= floor, entry, f"it is {view['state']} after a client was told rank {floor}")
        if end:
            books.expect(view.get("reason") == end[0], entry, f"it ended as {view.get('reason')}, a client knows {end}")
    books.touched -= {call for call, (_, end) in floors.items() if end}


async def kill_and_start(books, server, phones):
    """Kills the server repeatedly. Every fourth kill hits a start."""
    await asyncio.to_thread(server.kill)
    for number in range(KILLS):
        if number % 4 == 3:
            await asyncio.sleep(random.random() * 0.4)
            books.numbers["kills during a start"] += server.process.poll() is None
        else:
            await asyncio.to_thread(start, server)
            await asyncio.to_thread(examine, books, server, phones)
            await asyncio.sleep(0.2 + random.random())
        await asyncio.to_thread(server.kill)
        books.numbers["kills"] += 1
        for entry in list(books.entries.values())[-40:]:
            if entry.end is None:
                entry.note("drill", f"kill {number + 1}")
        books.check()
        if number % 4 == 2:
            server.launch()
        elif number % 20 == 19:
            print(f"{number + 1} kills, {len(books.entries)} calls", flush=True)
    await asyncio.to_thread(start, server)
    await asyncio.to_thread(examine, books, server, phones)


def start(server):
    try:
        server.start()
    except NotStarted as error:
        expect(False, str(error))


def main():
    random.seed(SEED)
    books = Books()
    server = Server("kill", SETTINGS, ["--push-sim"])
    server.data.mkdir()
    simulator = Simulator(server.data)
    try:
        start(server)
        phones = asyncio.run(traffic(
            books, server, simulator, lambda phones: kill_and_start(books, server, phones), WORKERS, cuts=True))
        server.stop()
        compare(books, server, phones)
        books.show()
        print("kill ok: " + ", ".join(f"{number} {name}" for name, number in sorted(books.numbers.items())))
    finally:
        if server.process.poll() is None:
            server.kill()
        simulator.stop()


main()
