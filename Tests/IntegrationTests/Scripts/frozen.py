"""A server that is stopped for a while: URL PID TOKEN. Input of that time counts as read in time, and timeouts
in progress start again."""

import asyncio
import os
import signal
import sys

from signaling import *

URL, PID, TOKEN = sys.argv[1], int(sys.argv[2]), sys.argv[3]


async def main():
    before, meanwhile = await Client.connect(URL), await Client.connect(URL)
    openings = [asyncio.ensure_future(before.open(TOKEN))]
    # Sent, and probably not read yet.
    await asyncio.sleep(0)
    os.kill(PID, signal.SIGSTOP)
    try:
        openings.append(asyncio.ensure_future(meanwhile.open(TOKEN)))
        # Twice the timeout for opening a session.
        await asyncio.sleep(2.5)
    finally:
        os.kill(PID, signal.SIGCONT)
    for client, opening in zip((before, meanwhile), openings):
        await asyncio.wait_for(opening, 10)
        await client.request("call.list")


run(main())
