"""A provider that uses Debian's python3-aioapns against a push simulator on this machine. Arguments: host, port, the
CA file, the key file, key id, team id, topic, and the tasks, each a JSON array of
[name, device token, push type or null, message, and further arguments of NotificationRequest].

Prints the library's result of each task as a JSON line, in order: {"task": name, "status": "200", "reason": null}.
The task ["many", token, type, message, count] sends that many at once, and prints the counts of the results.
"""

import asyncio
import collections
import json
import ssl
import sys

from aioapns import APNs, NotificationRequest, PushType
from aioapns.connection import APNsProductionClientProtocol

HOST, PORT, AUTHORITY, KEY, KEY_ID, TEAM_ID, TOPIC, *TASKS = sys.argv[1:]

# The library only has Apple's addresses.
APNsProductionClientProtocol.APNS_SERVER = HOST
APNsProductionClientProtocol.APNS_PORT = int(PORT)


async def main():
    # One connection: the library sends on a new one before it has read the server's limit of streams.
    client = APNs(
        key=KEY, key_id=KEY_ID, team_id=TEAM_ID, topic=TOPIC,
        ssl_context=ssl.create_default_context(cafile=AUTHORITY), max_connections=1)

    def send(token, kind, message, **more):
        push_type = PushType(kind) if kind else None
        request = NotificationRequest(device_token=token, message=message, push_type=push_type, **more)
        return asyncio.wait_for(client.send_notification(request), 40)

    for name, token, kind, message, more in map(json.loads, TASKS):
        if name == "many":
            results = await asyncio.gather(*[send(token, kind, message) for _ in range(more)])
            counts = collections.Counter(result.status for result in results)
            print(json.dumps({"task": name, "counts": counts}))
            continue
        result = await send(token, kind, message, **more)
        print(json.dumps({"task": name, "id": result.notification_id, "status": result.status,
                          "reason": result.description}))
    client.pool.close()


asyncio.run(asyncio.wait_for(main(), 80))
