"""Free TCP ports of the loopback interface, for the checks and drills in Python."""

import random
import socket

# Below the ports that Linux gives to outgoing connections (net.ipv4.ip_local_port_range, from 32768): between the probe
# and its use no connection can take the port.
RANGE = range(20_000, 32_000)
# Its own generator: drills seed the shared one, and two processes must not try the same ports.
_generator = random.SystemRandom()
_given = set()


def free_port():
    """A port that no socket uses. Returns each port once in a process."""
    while True:
        port = _generator.choice(RANGE)
        if port in _given:
            continue
        with socket.socket() as listener:
            try:
                listener.bind(("", port))
            except OSError:
                continue
        _given.add(port)
        return port
