"""Runs the push simulator and a server, and holds them against other code for Web Push.

pywebpush sends to a simulated browser, rightly and wrongly. What the server sends to a browser is decrypted by http_ece,
and its credentials are checked by py_vapid.

Arguments: a folder for data, and the program `reveille`.
"""

import atexit
import base64
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

import http_ece
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02
from pywebpush import WebPusher, WebPushException, webpush

FOLDER, REVEILLE = pathlib.Path(sys.argv[1]), sys.argv[2]
DATA = FOLDER / "data"
SIMULATOR = DATA / "push-sim"
SUBJECT = "mailto:push@example.org"


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class Program:
    """A process of `reveille`, and the lines of its log."""

    def __init__(self, *words, script=None):
        self.log = []
        self.process = subprocess.Popen(
            [REVEILLE, *map(str, words), "--data", str(DATA)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        atexit.register(self.process.kill)
        if script is not None:
            self.process.stdin.write(script)
            self.process.stdin.close()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.log.append(line.rstrip())

    def wait(self, pattern):
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            for line in self.log:
                if found := re.search(pattern, line):
                    return found
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no line with {pattern!r}:\n" + "\n".join(self.log))

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(20) == 0, self.log


class Answer:
    def __init__(self, status, body):
        self.status_code, self.text, self.headers, self.reason = status, body, {}, ""
        self.content = body.encode()


class Curl:
    """What pywebpush needs of a session of requests, over HTTP/2."""

    def __init__(self, **changes):
        self.changes = {name.replace("_", "-"): value for name, value in changes.items()}

    def request(self, method, url, data=None, headers=None):
        words = ["curl", "-sS", "--http2", "--max-time", "20", "--cacert", SIMULATOR / "ca.pem", "-X", method,
                 "-w", "\n%{http_code}", url]
        for name, value in (headers or {}).items():
            words += ["-H", f"{name}: {value}"]
        if data is not None:
            words += ["--data-binary", "@-"]
        run = subprocess.run(list(map(str, words)), input=data, capture_output=True, check=True)
        body, _, status = run.stdout.decode().rpartition("\n")
        return Answer(int(status), body)

    def post(self, url, data=None, headers=None, **_):
        fields = {name.lower(): value for name, value in dict(headers).items()} | self.changes
        return self.request("POST", url, data, {name: value for name, value in fields.items() if value is not None})


class Browser:
    """A simulated browser that subscribed with the key of `vapid`."""

    def __init__(self, simulator, vapid):
        key = vapid.public_key.public_numbers()
        point = b"\x04" + key.x.to_bytes(32, "big") + key.y.to_bytes(32, "big")
        self.simulator = simulator
        body = json.dumps({"provider": "webpush", "topic": encode(point), "name": "pywebpush"}).encode()
        answer = Curl().request("POST", f"{simulator}/simulator/v1/phones", body)
        assert answer.status_code == 201, answer.text
        self.endpoint, keys = json.loads(answer.text)["token"].split("#")
        self.keys = dict(part.split("=") for part in keys.split("&"))
        self.path = f"{simulator}/simulator/v1/phones/{self.endpoint.rsplit('/')[-1]}"
        self.lines = subprocess.Popen(
            list(map(str, ["curl", "-sSN", "--http2", "--cacert", SIMULATOR / "ca.pem", self.path])),
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        atexit.register(self.lines.kill)
        assert "attached" in json.loads(self.lines.stdout.readline())

    @property
    def info(self):
        return {"endpoint": self.endpoint, "keys": self.keys}

    def push(self):
        """The next push, which the browser shows."""
        line = json.loads(self.lines.stdout.readline())
        body = json.dumps({"push_id": line["headers"]["webpush-id"], "title": "shown"}).encode()
        verdict = Curl().request("POST", self.path + "/reported", body)
        assert json.loads(verdict.text) == {"verdict": "accepted"}, verdict.text
        return line

    def end(self):
        assert Curl().request("DELETE", self.path).status_code == 200


def simulator():
    program = Program("push-sim", "--port", 0, "--sandbox-port", 0, "--fcm-port", 0, "--webpush-port", 0)
    program.wait("ready")
    manifest = json.loads((SIMULATOR / "push-sim.json").read_text())["webpush"]
    return program, "https://{host}:{port}".format(**manifest)


def state(origin):
    return json.loads(Curl().request("GET", f"{origin}/simulator/v1/state").text)["counts"]


def expect(found, wanted):
    assert wanted in str(found), f"expected {wanted!r}, found {found!r}"
    print(f"  {found}")


def check_sender(origin):
    print("pywebpush sends to a browser")
    vapid = Vapid02()
    vapid.generate_keys()
    browser = Browser(origin, vapid)

    def send(data, session=None, claims=None, key=vapid, ttl=30, **more):
        return webpush(
            browser.info, data, vapid_private_key=key, vapid_claims={"sub": SUBJECT} | (claims or {}), ttl=ttl,
            requests_session=session or Curl(), **more)

    def refused(words, *arguments, **more):
        try:
            answer = send(*arguments, **more)
        except WebPushException as refusal:
            error = json.loads(refusal.response.text)
            assert error["code"] == refusal.response.status_code
            return expect(f"{error['code']} {error['errno']} {error['error']}: {error['message']}", words)
        raise AssertionError(f"accepted: {answer.status_code}, expected {words!r}")

    assert send('{"uuid":"1","name":"Ünï"}', headers={"Urgency": "high", "Topic": "a_b-9"}).status_code == 201
    line = browser.push()
    expect(line["push"], "Ünï")
    headers = line["headers"]
    assert headers["webpush-urgency"] == "high" and headers["webpush-ttl"] == "30", headers
    assert headers["webpush-topic"] == "a_b-9" and line["must_report"], line
    for size in [1, 100, 3993]:
        assert send("x" * size).status_code == 201
        assert browser.push()["push"] == "x" * size

    print("pywebpush sends wrongly")
    stranger = Vapid02()
    stranger.generate_keys()
    refused("403 109 bad_audience: aud of the VAPID token is 'https://push.example.org'", "{}",
            claims={"aud": "https://push.example.org"})
    refused("403 109 bad_expiration: exp of the VAPID token is more than 24 hours", "{}", claims={"exp": int(time.time()) + 86_500})
    refused("403 109 bad_key: VAPID public key mismatch", "{}", key=stranger)
    refused("403 109 bad_subject", "{}", claims={"sub": "mailto:root@localhost"})
    refused("401 109 missing_authorization", "{}", Curl(authorization=None))
    refused("400 111 missing_ttl", "{}", Curl(ttl=None))
    refused("400 112 bad_ttl", "{}", Curl(ttl="soon"))
    refused("400 113 bad_topic", "{}", Curl(topic="not base64url"))
    refused("400 999 bad_urgency", "{}", Curl(urgency="urgent"))
    refused("400 110 bad_encoding", "{}", Curl(content_encoding="aesgcm"))
    refused("413 104 payload_too_large", "x" * 3994)
    # The service cannot see that it is for another browser: the browser drops it.
    other = Browser(origin, vapid)
    mixed = {"endpoint": browser.endpoint, "keys": other.keys}
    headers = vapid.sign({"sub": SUBJECT, "aud": origin, "exp": int(time.time()) + 3600})
    assert WebPusher(mixed, requests_session=Curl()).send("{}", headers, ttl=30).status_code == 201
    found = state(origin)
    assert found["dropped"] == {"undecryptable_authentication": 1}, found
    browser.end()
    refused("410 106 gone", "{}")
    assert state(origin)["accepted"] == 5


def check_server(origin):
    print("a server's pushes, read by http_ece and py_vapid")
    server = Program("serve", "--push-sim", "--port", 0, "--log-format", "text")
    server.wait("listening")
    bob = Program("phone", "bob", "--asleep", "--platform", "web", "--auto-answer", 0, script="")
    bob.wait("asleep until a push wakes")
    alice = Program("phone", "alice", "--name", "Älice", script="call bob\nwait connected\nhangup\n")
    assert alice.process.wait(30) == 0, alice.log
    token = next(phone["token"] for phone in phones(origin) if phone["name"] == "bob's browser")
    path = f"{origin}/simulator/v1/phones/{token.split('#')[0].rsplit('/')[-1]}/subscription"
    view = json.loads(Curl().request("GET", path).text)
    number = int.from_bytes(decode(view["private_key"]), "big")
    private, auth = ec.derive_private_key(number, ec.SECP256R1()), decode(view["keys"]["auth"])
    (push,) = view["pushes"]
    body = decode(push["body"])
    assert len(body) <= 4096 and int.from_bytes(body[16:20], "big") >= len(body) - 86
    content = json.loads(http_ece.decrypt(body, private_key=private, auth_secret=auth, version="aes128gcm"))
    expect(sorted(content), "wake_token")
    assert content["handle"] == "alice" and content["name"] == "Älice", content
    assert decode(push["topic"]).hex() == content["uuid"].replace("-", "")
    assert push["urgency"] == "high" and 0 < push["ttl"] <= 60, push
    # py_vapid verifies the signature; it checks no claims, and reads no space behind the comma.
    assert Vapid02.verify(push["authorization"].replace(", ", ","))
    wrong = push["authorization"].replace(", ", ",").replace(".", ".e30", 1)
    assert not verified(wrong), "py_vapid verifies anything"
    claims = json.loads(decode(push["authorization"].split(".")[1]))
    assert claims["aud"] == origin and 0 < claims["exp"] - time.time() <= 86_400, claims
    expect(claims["sub"], "mailto:")
    bob.stop()
    server.stop()


def verified(authorization):
    try:
        return Vapid02.verify(authorization)
    except Exception:
        return False


def phones(origin):
    return json.loads(Curl().request("GET", f"{origin}/simulator/v1/state").text)["phones"]


PROGRAM, ORIGIN = simulator()
check_sender(ORIGIN)
check_server(ORIGIN)
PROGRAM.stop()
print("all checked")
