"""Runs a program on a terminal with scripted input: terminal.py SECONDS PROGRAM ARGUMENT... -- EXPECT SAY ..."""

import os
import pty
import select
import sys
import time

split = sys.argv.index("--")
deadline = time.monotonic() + float(sys.argv[1])
command, dialogue = sys.argv[2:split], sys.argv[split + 1:]

child, terminal = pty.fork()
if child == 0:
    os.execv(command[0], command)

seen = b""


def wait_for(text):
    """Reads until `text` appears, and drops the output up to it."""
    global seen
    while text not in seen:
        if not select.select([terminal], [], [], max(0, deadline - time.monotonic()))[0]:
            os.kill(child, 9)
            sys.exit(f"waited in vain for {text!r}; shown: {seen!r}")
        seen += os.read(terminal, 4096)
    seen = seen.split(text, 1)[1]


for expect, say in zip(dialogue[::2], dialogue[1::2]):
    wait_for(expect.encode())
    os.write(terminal, say.encode() + b"\n")

# Drains the remaining output, which would block the program; reading fails when the terminal closes.
while True:
    try:
        if not os.read(terminal, 4096):
            break
    except OSError:
        break
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
