"""Produces each status that the OpenAPI documents list, for each operation, and looks for the required members of its body.

Fails for a status that no request here produces, and for one that the operation does not list. 500, which takes a store
that cannot be read, is left to BackendResourcesTests.

Arguments: a folder for the servers' data, and the program `reveille`.
"""

import asyncio
import contextlib
import http.client
import json
import pathlib
import subprocess
import sys
import time
import urllib.parse
import uuid

from ports import free_port
from reveille import Client

FOLDER, REVEILLE = pathlib.Path(sys.argv[1]), sys.argv[2]
NAMES = ["reveille.openapi.json", "reveille.backend.openapi.json", "reveille.asyncapi.json"]
DOCUMENTS = {name: json.loads((pathlib.Path("Resources") / name).read_text()) for name in NAMES}
DEVICE = "c17eae2a-5b6f-4b0e-8a4b-7c1d2e3f4a5b"
TOKEN = {
    "provider": "apns", "kind": "voip", "environment": "production", "topic": "org.example.phone.voip",
    "token": "00" * 32,
}
# Bodies that an operation takes; of the others it is empty.
BODIES = {
    "startCall": {"from": "+49301234", "to": "bob"}, "setUser": {"call_waiting": True},
    "blockCallers": {"callers": ["mallory"]}, "unblockCallers": {"callers": ["mallory"]},
    "forwardCalls": {"no_answer": "carol"}, "setGroup": {"strategy": "all", "members": ["bob"]},
    "setAlias": {"user": "bob"}, "replayWebhook": {"since_ms": 0}, "drainServer": {"deadline_ms": 60_000},
    "setLogLevel": {"level": "info"},
}
# Of a name that there is not, each answers 404.
UNKNOWN = [
    "followCall", "endCall", "backendConnected", "backendHangUp", "getCallRecord", "getPush", "getUser", "unblockCallers",
    "getDevice", "deleteDevice", "resumeDevice", "dropSession", "getGroup", "deleteGroup", "deleteAlias", "pauseWebhook",
    "resumeWebhook", "replayWebhook", "testWebhook",
]


class Operation:
    def __init__(self, document, method, path, content):
        self.document, self.method, self.path = document, method.upper(), path
        self.id, self.responses = content["operationId"], content["responses"]
        self.is_backend = path.startswith("/v1/backend/")
        self.takes_body = "requestBody" in content


OPERATIONS = {
    content["operationId"]: Operation(name, method, path, content)
    for name in NAMES[:2] for path, methods in DOCUMENTS[name]["paths"].items()
    for method, content in methods.items() if method != "parameters"
}


def resolved(document, schema):
    """The document and the value that a reference leads to."""
    while "$ref" in schema:
        file, pointer = schema["$ref"].split("#/")
        document = file or document
        schema = DOCUMENTS[document]
        for part in pointer.split("/"):
            schema = schema[part]
    return document, schema


def missing(document, schema, value, place="body"):
    """The members that a schema requires and the value does not have."""
    document, schema = resolved(document, schema)
    if "oneOf" in schema or "anyOf" in schema:
        found = [missing(document, each, value, place) for each in schema.get("oneOf", schema.get("anyOf"))]
        return min(found, key=len)
    faults = [fault for each in schema.get("allOf", []) for fault in missing(document, each, value, place)]
    if isinstance(value, list) and "items" in schema:
        return faults + [fault for each in value for fault in missing(document, schema["items"], each, f"{place}[]")]
    if schema.get("type") == "object" and not isinstance(value, dict):
        return [*faults, f"{place} is no object"]
    if not isinstance(value, dict):
        return faults
    faults += [f"{place}.{name}" for name in schema.get("required", []) if name not in value]
    for name, member in schema.get("properties", {}).items():
        if name in value:
            faults += missing(document, member, value[name], f"{place}.{name}")
    return faults


class Server:
    """A server with settings of its own. `statuses` are those that were produced, by operation, on all servers."""

    produced, faults = set(), []

    def __init__(self, name, settings):
        self.data, self.port = FOLDER / name, free_port()
        self.settings = FOLDER / f"{name}.yaml"
        self.settings.write_text(settings)
        self.names = {}

    def token(self, *words):
        line = [REVEILLE, "token", *words, "--data", self.data]
        return subprocess.run(line, check=True, capture_output=True, text=True).stdout.strip()

    @contextlib.contextmanager
    def running(self):
        self.bearer, self.user = self.token("backend", "root", "--role", "admin"), self.token("alice")
        self.stranger = self.token("backend", "crm", "--role", "admin", "--users", "nobody")
        log = FOLDER / f"{self.data.name}.log"
        words = [REVEILLE, "serve", "--data", self.data, "--config", self.settings, "--port", str(self.port),
                 "--metrics-listen", "off"]
        with open(log, "wb") as output:
            process = subprocess.Popen(words, stderr=output)
        try:
            deadline = time.monotonic() + 60
            while f":{self.port}" not in log.read_text():
                if process.poll() is not None or time.monotonic() > deadline:
                    sys.exit(f"the server does not listen:\n{log.read_text()}")
                time.sleep(0.02)
            yield self
        finally:
            process.terminate()
            process.wait(60)

    def client(self, user, **options):
        return Client(f"ws://127.0.0.1:{self.port}", self.token(user), **options)

    async def ask(self, operation, status, query="", body=None, headers=None, token=None, head_only=False, **names):
        """Sends a request, and notes its status. Returns the body. A row may be visible a moment after its change."""
        deadline = time.monotonic() + 5
        while True:
            found, content = await asyncio.to_thread(
                self._send, OPERATIONS[operation], query, body, headers or {}, token, head_only, names)
            if found == status or found != 404 or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.1)
        if found != status:
            self.faults.append(f"{operation} answers {found} instead of {status}: {content}")
        return content

    def _send(self, operation, query, body, headers, token, head_only, names):
        path = operation.path
        for part, value in {**self.names, **names}.items():
            path = path.replace("{" + part + "}", urllib.parse.quote(value, safe=""))
        bearer = token if token is not None else self.bearer if operation.is_backend else self.user
        given = {"Host": f"127.0.0.1:{self.port}", **({"Authorization": f"Bearer {bearer}"} if bearer else {}), **headers}
        if operation.takes_body and not head_only:
            content = json.dumps(BODIES.get(operation.id, {}) if body is None else body).encode()
            given |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        else:
            content = b""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=40)
        try:
            connection.putrequest(operation.method, path + query, skip_host=True, skip_accept_encoding=True)
            for key, value in given.items():
                connection.putheader(key, value)
            connection.endheaders(content or None)
            response = connection.getresponse()
            status, text = response.status, response.read().decode()
        finally:
            connection.close()
        self._note(operation, status, text)
        return status, json.loads(text) if text.startswith(("{", "[")) else text

    def _note(self, operation, status, text):
        self.produced.add((operation.id, status))
        if str(status) not in operation.responses:
            return self.faults.append(f"{operation.id} answers {status}, which its document does not list: {text}")
        document, response = resolved(operation.document, operation.responses[str(status)])
        schema = response.get("content", {}).get("application/json", {}).get("schema")
        if schema is None:
            return None if text == "" else self.faults.append(f"{operation.id} has a body with {status}: {text}")
        absent = missing(document, schema, json.loads(text))
        if absent:
            self.faults.append(f"{operation.id} {status} lacks {', '.join(absent)}: {text}")


async def refused(server, call, push):
    """What an operation is refused for, whatever it is about."""
    server.names |= {"call_id": call, "push_id": push}
    for operation in OPERATIONS.values():
        name = operation.id
        await server.ask(name, 401, token="")
        await server.ask(name, 431, headers={"X-Long": "x" * 33_000})
        if operation.takes_body:
            await server.ask(name, 411, headers={"Transfer-Encoding": "chunked"}, head_only=True)
            await server.ask(name, 413, headers={"Content-Length": "10000000"}, head_only=True)
        if operation.is_backend:
            await server.ask(name, 400, "?a=%zz")
            await server.ask(name, 403, token=server.stranger)
        elif operation.path != "/v1/turn":
            await server.ask(name, 400, call_id="x", push_id="x")
            other = str(uuid.uuid4())
            body = {"call_id": other, "result": "reported"} if name == "reportPush" else None
            await server.ask(name, 403, call_id=other, push_id=other, body=body)
    for name in UNKNOWN:
        other = str(uuid.uuid4())
        await server.ask(name, 404, call_id=other, push_id=other, device_id=other, user="nobody-2", name="none", alias="none")
    await server.ask("forwardCalls", 404, body={"busy": {"group": "none"}})


async def phones(server, alice, bob):
    """The operations of phones, about calls of their own."""
    token, query = server.token("bob"), f"?device={DEVICE}"
    call = await alice.invite("bob")
    push = (await bob.event("call.incoming", call)).params["push_id"]
    await refused(server, call, push)
    await server.ask("getTurnCredentials", 200)
    await server.ask("getCall", 200, query, token=token)
    await server.ask("ringCall", 200, query, token=token)
    await server.ask("reportPush", 200, query, {"call_id": call, "result": "reported"}, token=token)
    await server.ask("answerCall", 200, query, token=token)
    await server.ask("declineCall", 409, query, token=token)
    await server.ask("hangUpCall", 200, query, token=token)
    await server.ask("answerCall", 409, query, token=token)
    call = await alice.invite("bob")
    await bob.event("call.incoming", call)
    await server.ask("declineCall", 200, query, token=token, call_id=call)


async def calls(server, alice, bob):
    """The calls of backends."""
    own = await alice.invite("bob")
    await bob.event("call.incoming", own)
    for name in ["backendConnected", "backendHangUp"]:
        await server.ask(name, 409, call_id=own)
    await server.ask("startCall", 409, body={**BODIES["startCall"], "call_id": own})
    await alice.hangup(own)
    key = {"Idempotency-Key": "order-1"}
    call = (await server.ask("startCall", 200, headers=key))["call_id"]
    await server.ask("startCall", 422, headers=key, body={"from": "+49301234", "to": "carol"})
    await bob.event("call.incoming", call)
    server.names["call_id"] = call
    version = (await server.ask("followCall", 200))["version"]
    await server.ask("followCall", 204, f"?after={version}&wait=0")
    await bob.answer(call)
    await server.ask("backendConnected", 200)
    await server.ask("backendHangUp", 200)
    await server.ask("getCallRecord", 200)
    await server.ask("endCall", 409)
    call = (await server.ask("startCall", 200))["call_id"]
    await server.ask("endCall", 200, call_id=call)
    await server.ask("exportCalls", 200)
    await server.ask("exportPushes", 200)


async def directory(server):
    """What administrators read and change."""
    async with server.client("carol", device_id=DEVICE, push=[TOKEN]):
        for name in ["listSessions", "listDevices", "getDevice", "resumeDevice", "dropSession"]:
            await server.ask(name, 200, user="carol")
    call = (await server.ask("startCall", 200, body={"from": "+49301234", "to": "carol"}))["call_id"]
    record = await server.ask("getCallRecord", 200, call_id=call)
    await server.ask("getPush", 200, push_id=record["pushes"][0]["push_id"])
    await server.ask("deleteDevice", 200, user="carol")
    await server.ask("setAlias", 409, alias="bob", body={"user": "alice"})
    for name in [
        "getUser", "setUser", "blockCallers", "unblockCallers", "forwardCalls", "setGroup", "getGroup", "listGroups",
        "setAlias", "listAliases", "listWebhooks", "pauseWebhook", "resumeWebhook", "replayWebhook", "testWebhook", "getStats",
        "setLogLevel",
    ]:
        await server.ask(name, 200, name="billing" if "Webhook" in name else "sales")
    for name in ["setUser", "blockCallers", "unblockCallers", "forwardCalls", "revokeTokens"]:
        await server.ask(name, 409, user="+491")
    for name in ["deleteGroup", "deleteAlias", "revokeTokens", "drainServer", "stopServer"]:
        await server.ask(name, 200)


async def main():
    secret, webhooks = FOLDER / "turn-secret", FOLDER / "webhooks.yaml"
    secret.write_text("north\n")
    webhooks.write_text(
        "- name: billing\n  url: http://127.0.0.1:1/\n  secrets: [whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw]\n")
    for file in [secret, webhooks]:
        file.chmod(0o600)
    whole = Server(
        "whole", f"turn.urls: turn:127.0.0.1:3478\nturn.secret_file: {secret}\nwebhooks.file: {webhooks}\nshards: 1\n")
    whole.names |= {"user": "bob", "device_id": DEVICE, "name": "sales", "alias": "+491"}
    with whole.running():
        async with whole.client("alice") as alice, whole.client("bob", device_id=DEVICE) as bob:
            await phones(whole, alice, bob)
            await calls(whole, alice, bob)
            await directory(whole)
    places = {**whole.names, "call_id": str(uuid.uuid4()), "push_id": str(uuid.uuid4())}
    # Two sessions take all connections: what else comes is turned away.
    full = Server("full", "limits.connections: 2\nlimits.connections_per_address: 2\nshards: 1\n")
    full.names = places
    with full.running():
        async with full.client("alice"), full.client("bob"):
            for name in OPERATIONS:
                await full.ask(name, 503)
    # The requests of one address have a limit behind a proxy; directly, those of this machine have none. A backend's token
    # has none either, but one that nobody knows.
    narrow = Server("narrow", "limits.requests_per_address: 1\nlisten.proxies: 127.0.0.1\nshards: 1\n")
    narrow.names = places
    with narrow.running():
        client = {"X-Forwarded-For": "203.0.113.7"}
        await narrow.ask("getTurnCredentials", 404, headers=client)
        for operation in OPERATIONS.values():
            token = "rvb_0" if operation.is_backend else None
            await narrow.ask(operation.id, 429, headers=client, token=token)
    listed = {(each.id, int(status)) for each in OPERATIONS.values() for status in each.responses}
    for name, status in sorted(listed - Server.produced):
        if status != 500:
            Server.faults.append(f"{name} lists {status}, which no request here produces")
    if Server.faults:
        sys.exit("\n".join(Server.faults))
    print(f"{len(listed & Server.produced)} statuses of {len(OPERATIONS)} operations ok")


asyncio.run(main())
