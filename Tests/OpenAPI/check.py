"""Runs schemathesis against a server. Each operation is tried on random ids, and on a call that rings.

Arguments: a folder for the server's data, the program `reveille`, and `smoke` for the short form.
"""

import asyncio
import json
import pathlib
import subprocess
import sys
import time

from ports import free_port
from reveille import Client

FOLDER, REVEILLE = pathlib.Path(sys.argv[1]), sys.argv[2]
SCHEMATHESIS = pathlib.Path(sys.executable).with_name("schemathesis")
SCHEMA = pathlib.Path("Resources/reveille.openapi.json").absolute()
BACKEND_SCHEMA = pathlib.Path("Resources/reveille.backend.openapi.json").absolute()
IS_SHORT = sys.argv[3:] == ["smoke"]
EXAMPLES = {SCHEMA: 10, BACKEND_SCHEMA: 3} if IS_SHORT else {SCHEMA: 50, BACKEND_SCHEMA: 15}
PHASES = "examples,coverage,fuzzing,stateful"
# These would end the server, or change what the others are answered.
UNTRIED = {"stopServer", "drainServer"}
OPERATIONS = ["getCall", "ringCall", "answerCall", "declineCall", "hangUpCall", "reportPush", "getTurnCredentials"]
DEVICE = "c17eae2a-5b6f-4b0e-8a4b-7c1d2e3f4a5b"
# A null member counts as left out, and an id that is no call of the user is refused: neither is a fault.
EXCLUDED = "negative_data_rejection,positive_data_acceptance,missing_required_header"


def token(user):
    words = [REVEILLE, "token", user, "--data", FOLDER / "data"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


def backend_token():
    words = [REVEILLE, "token", "backend", "check", "--role", "admin", "--data", FOLDER / "data"]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()


async def attempt(address, bearer, operations, parameters, schema=SCHEMA, phases=PHASES):
    """Tries operations. `parameters` are those of all operations, or by operation. Returns whether schemathesis found
    no fault."""
    config = FOLDER / "schemathesis.toml"
    lines = ["[parameters]"]
    for name, value in parameters.items():
        if name in operations:
            lines += ["[[operations]]", f'include-operation-id = "{name}"', "[operations.parameters]"]
        for key, text in value.items() if name in operations else [(name, value)]:
            lines.append(f'"{key}" = "{text}"')
    config.write_text("\n".join([*lines, ""]))
    words = [
        SCHEMATHESIS, "--config-file", config, "run", schema, "--url", f"http://{address}",
        "--header", f"Authorization: Bearer {bearer}", "--exclude-checks", EXCLUDED,
        "--max-examples", EXAMPLES[schema], "--seed", "1", "--no-color",
        "--phases", phases,
    ]
    words += [word for operation in operations for word in ("--include-operation-id", operation)]
    run = await asyncio.create_subprocess_exec(
        *map(str, words), cwd=FOLDER, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
    output = (await run.communicate())[0].decode()
    is_ok = run.returncode == 0
    print(*operations, parameters, "ok" if is_ok else "\n".join(line[:300] for line in output.splitlines()), flush=True)
    return is_ok


def in_runs(operations):
    """The operations of each run of schemathesis. The short form has one run: to start one takes a second."""
    return [operations] if IS_SHORT else [[operation] for operation in operations]


async def check(address, bearer):
    alice_token, bob_token = token("alice"), token("bob")
    results = []
    async with Client(f"ws://{address}", alice_token) as alice, \
            Client(f"ws://{address}", bob_token, device_id=DEVICE) as bob:
        for operations in in_runs(OPERATIONS):
            results.append(await attempt(address, bob_token, operations, {}))
            # Most operations change the call: each gets its own.
            known = {}
            for operation in operations:
                call = await alice.invite("bob", ring_ms=180_000)
                incoming = await bob.event("call.incoming", call)
                known[operation] = {
                    "path.call_id": call, "query.device": DEVICE, "path.push_id": incoming.params["push_id"]}
            results.append(await attempt(address, bob_token, operations, known))
            for parameters in known.values():
                await alice.hangup(parameters["path.call_id"])
        results.append(await check_backend(address, bearer, alice, bob))
    return all(results)


async def check_backend(address, bearer, alice, bob):
    """Tries the operations of backends on random names, then on ones that there are."""
    document = json.loads(BACKEND_SCHEMA.read_text())
    names = [
        operation["operationId"] for path in document["paths"].values()
        for method, operation in path.items() if method != "parameters"]
    call = await alice.invite("bob", ring_ms=180_000)
    incoming = await bob.event("call.incoming", call)
    known = {
        "path.call_id": call, "path.push_id": incoming.params["push_id"], "path.user": "bob",
        "path.device_id": DEVICE, "query.wait": "0",
    }
    # The coverage takes longest, and has the same values with names that there are.
    first = PHASES.replace("coverage,", "") if IS_SHORT else PHASES
    results = []
    for operations in in_runs([name for name in names if name not in UNTRIED]):
        results.append(
            await attempt(address, bearer, operations, {"query.wait": "0"}, BACKEND_SCHEMA, first))
        results.append(await attempt(address, bearer, operations, known, BACKEND_SCHEMA))
    return all(results)


def main():
    bearer = backend_token()
    port = free_port()
    secret, settings = FOLDER / "turn-secret", FOLDER / "reveille.yaml"
    secret.write_text("north\n")
    secret.chmod(0o600)
    settings.write_text(f"turn.urls: turn:127.0.0.1:3478\nturn.secret_file: {secret}\n")
    words = [
        REVEILLE, "serve", "--data", FOLDER / "data", "--config", settings, "--port", str(port),
        "--metrics-listen", "off"]
    log = FOLDER / "server.log"
    with open(log, "wb") as output:
        server = subprocess.Popen(words, stderr=output)
    try:
        deadline = time.monotonic() + 60
        # The first lines tell that it listens.
        while f":{port}" not in log.read_text():
            if server.poll() is not None or time.monotonic() > deadline:
                sys.exit(f"the server does not listen:\n{log.read_text()}")
            time.sleep(0.02)
        if not asyncio.run(check(f"127.0.0.1:{port}", bearer)):
            sys.exit("schemathesis found faults")
    finally:
        server.terminate()
        server.wait(60)


main()
