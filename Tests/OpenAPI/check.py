"""Runs schemathesis against a server. Each operation is tried on random ids, and on a call that rings.

Arguments: a folder for the server's data, and the program `reveille`.
"""

import asyncio
import json
import pathlib
import socket
import subprocess
import sys

from reveille import Client

FOLDER, REVEILLE = pathlib.Path(sys.argv[1]), sys.argv[2]
SCHEMA = pathlib.Path("Resources/reveille.openapi.json").absolute()
BACKEND_SCHEMA = pathlib.Path("Resources/reveille.backend.openapi.json").absolute()
# These would end the server, or change what the others are answered.
UNTRIED = {"stopServer", "drainServer"}
OPERATIONS = ["getCall", "ringCall", "answerCall", "declineCall", "hangUpCall", "reportPush", "getTurnCredentials"]
DEVICE = "c17eae2a-5b6f-4b0e-8a4b-7c1d2e3f4a5b"
# A null member counts as left out, and an id that is no call of the user is refused: neither is a fault.
EXCLUDED = "negative_data_rejection,positive_data_acceptance,missing_required_header"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def token(user):
    words = [REVEILLE, "token", user, "--data", FOLDER / "data"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def backend_token():
    words = [REVEILLE, "token", "backend", "check", "--role", "admin", "--data", FOLDER / "data"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


async def try_operation(address, bearer, operation, parameters, schema=SCHEMA):
    """Returns whether schemathesis found no fault."""
    config = FOLDER / "schemathesis.toml"
    lines = [f'"{name}" = "{value}"' for name, value in parameters.items()]
    config.write_text("\n".join(["[parameters]", *lines, ""]))
    words = [
        "schemathesis", "--config-file", config, "run", schema, "--url", f"http://{address}",
        "--header", f"Authorization: Bearer {bearer}", "--include-operation-id", operation,
        "--exclude-checks", EXCLUDED, "--max-examples", "50" if schema == SCHEMA else "15", "--seed", "1", "--no-color",
    ]
    run = await asyncio.create_subprocess_exec(
        *map(str, words), cwd=FOLDER, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    output = (await run.communicate())[0].decode()
    print(operation, parameters, "ok" if run.returncode == 0 else "\n".join(line[:300] for line in output.splitlines()))
    return run.returncode == 0


async def check(address, bearer):
    alice_token, bob_token = token("alice"), token("bob")
    results = []
    async with Client(f"ws://{address}", alice_token) as alice, \
            Client(f"ws://{address}", bob_token, device_id=DEVICE) as bob:
        for operation in OPERATIONS:
            results.append(await try_operation(address, bob_token, operation, {}))
            call = await alice.invite("bob", ring_ms=180_000)
            incoming = await bob.event("call.incoming", call)
            known = {"path.call_id": call, "query.device": DEVICE, "path.push_id": incoming.params["push_id"]}
            results.append(await try_operation(address, bob_token, operation, known))
            await alice.hangup(call)
        results.append(await check_backend(address, bearer, alice, bob))
    return all(results)


async def check_backend(address, bearer, alice, bob):
    """Tries the operations of backends on random names, then on ones that there are."""
    document = json.loads(BACKEND_SCHEMA.read_text())
    operations = [
        operation["operationId"] for path in document["paths"].values()
        for method, operation in path.items() if method != "parameters"]
    call = await alice.invite("bob", ring_ms=180_000)
    incoming = await bob.event("call.incoming", call)
    known = {
        "path.call_id": call, "path.push_id": incoming.params["push_id"], "path.user": "bob",
        "path.device_id": DEVICE, "query.wait": "0",
    }
    results = []
    for operation in operations:
        if operation in UNTRIED:
            continue
        for parameters in {"query.wait": "0"}, known:
            results.append(await try_operation(address, bearer, operation, parameters, BACKEND_SCHEMA))
    return all(results)


def main():
    bearer = backend_token()
    port = free_port()
    secret, settings = FOLDER / "turn-secret", FOLDER / "reveille.yaml"
    secret.write_text("north\n")
    secret.chmod(0o600)
    settings.write_text(f"turn.urls: turn:127.0.0.1:3478\nturn.secret_file: {secret}\n")
    words = [
        REVEILLE, "serve", "--data", FOLDER / "data", "--config", settings, "--port", str(port), "--metrics-listen", "off"]
    server = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        # The first lines tell that it listens.
        for line in server.stderr:
            if str(port) in line:
                break
        if not asyncio.run(check(f"127.0.0.1:{port}", bearer)):
            sys.exit("schemathesis found faults")
    finally:
        server.terminate()
        server.wait(20)


main()
