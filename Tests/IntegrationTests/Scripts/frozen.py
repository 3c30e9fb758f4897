"""A server that stands still for a while: URL PID TOKEN. What came meanwhile counts as if it had been read then, and what
it was at work on has its time anew."""

import asyncio
import os
import signal
import sys

from signaling import *

URL, PID, TOKEN = sys.argv[1], int(sys.argv[2]), sys.argv[3]


async def main():
    before, meanwhile = await Client.connect(URL), await Client.connect(URL)
    openings = [asyncio.ensure_future(before.open(TOKEN))]
    # Sent, and hardly read.
    await asyncio.sleep(0)
    os.kill(PID, signal.SIGSTOP)
    try:
        openings.append(asyncio.ensure_future(meanwhile.open(TOKEN)))
        # Twice the time that a session has to be opened in.
        await asyncio.sleep(2.5)
    finally:
        os.kill(PID, signal.SIGCONT)
    for client, opening in zip((before, meanwhile), openings):
        await asyncio.wait_for(opening, 10)
        await client.request("call.list")


asyncio.run(asyncio.wait_for(main(), 30))
