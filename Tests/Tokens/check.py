"""Runs a server with keys of an identity provider, from a file and from Python's HTTP server, as an operator does.

Arguments: a folder for the servers' data, the program `reveille`, and `smoke` for the short form.
"""

import atexit
import http.server
import json
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
import uuid

import jwt
from cryptography.hazmat.primitives import serialization
from jwcrypto import jwk
from ports import free_port

FOLDER, REVEILLE = pathlib.Path(sys.argv[1]), sys.argv[2]
IS_SHORT = sys.argv[3:] == ["smoke"]
# The server fetches the keys for an unknown kid once in so many seconds.
SPACING = 30
ISSUER = "https://id.example.com/"


class Provider(http.server.ThreadingHTTPServer):
    """Serves `body` with `fields` at any path, and counts the requests."""

    def __init__(self, port):
        super().__init__(("127.0.0.1", port), Handler)
        self.requests, self.status, self.body, self.fields, self.delay = 0, 200, b"", {}, 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def serve(self, *keys, **fields):
        self.status, self.delay = 200, 0
        self.body = json.dumps({"keys": [json.loads(key.export_public()) for key in keys]}).encode()
        self.fields = fields

    def stop(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.requests += 1
        time.sleep(self.server.delay)
        self.send_response(self.server.status)
        for name, value in self.server.fields.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(self.server.body)))
        self.end_headers()
        try:
            self.wfile.write(self.server.body)
        except OSError:
            pass

    def log_message(self, *words):
        pass


class Server:
    """`reveille serve` on a data folder of this name, its log and its answers."""

    def __init__(self, name, settings):
        self.data, self.config, self.port = FOLDER / name, FOLDER / f"{name}.yaml", free_port()
        self.write(settings)
        self.log = []
        words = [REVEILLE, "serve", "--config", self.config, "--data", self.data, "--port", str(self.port),
                 "--metrics-listen", f"127.0.0.1:{free_port()}"]
        self.metrics = words[-1]
        self.process = subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        threading.Thread(target=self.read, daemon=True).start()
        self.wait("listening")

    def write(self, settings):
        self.config.write_text("log.format: text\n" + "".join(f"{key}: {value}\n" for key, value in settings.items()))

    def read(self):
        for line in self.process.stderr:
            self.log.append(line.rstrip())

    def wait(self, words, since=0):
        limit = time.monotonic() + 60
        while time.monotonic() < limit:
            if any(words in line for line in self.log[since:]):
                return
            if self.process.poll() is not None:
                break
            time.sleep(0.02)
        raise AssertionError(f"no line with {words!r}:\n" + "\n".join(self.log[since:]))

    def reload(self, settings=None):
        if settings:
            self.write(settings)
        since = len(self.log)
        self.process.send_signal(signal.SIGHUP)
        self.wait("admin reload", since)
        return self.log[since:]

    def ask(self, token):
        """"taken" for a token that opens the way to a call that does not exist; "later" for one that is to be shown
        again; otherwise the refusal."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/v1/calls/{uuid.uuid4()}", headers={"Authorization": f"Bearer {token}"})
        try:
            urllib.request.urlopen(request, timeout=20)
            raise AssertionError("there is no such call")
        except urllib.error.HTTPError as error:
            answer = json.load(error)
            # Forbidden, as for a call of others.
            if error.code == 403:
                return "taken"
            if error.code == 503 and answer["data"]["code"] == "overloaded":
                return "later"
            assert error.code == 401, (error.code, answer)
            return answer["message"]

    def metric(self, name):
        text = urllib.request.urlopen(f"http://{self.metrics}/metrics", timeout=20).read().decode()
        return float(re.search("^" + re.escape(name) + r" (\S+)", text, re.MULTILINE).group(1))

    def explain(self, text, code):
        words = [REVEILLE, "token", "explain", "-", "--config", self.config, "--data", self.data]
        run = subprocess.run(list(map(str, words)), input=text + "\n", capture_output=True, text=True)
        assert run.returncode == code, run
        return run.stdout

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(60) == 0


def key(kid, **kind):
    return jwk.JWK.generate(kid=kid, use="sig", **kind)


def token(signer, algorithm, kid=True, **claims):
    private = serialization.load_pem_private_key(signer.export_to_pem(private_key=True, password=None), None)
    now = int(time.time())
    told = {"iss": ISSUER, "aud": "reveille", "sub": "alice", "iat": now, "exp": now + 3600} | claims
    return jwt.encode(told, private, algorithm=algorithm, headers={"kid": signer.get("kid")} if kid else {})


def expect(found, wanted):
    assert wanted in found, f"expected {wanted!r}, found {found!r}"
    print(f"  {found}")


KEYS = {
    "RS256": key("rsa", kty="RSA", size=2048), "PS256": key("pss", kty="RSA", size=2048, alg="PS256"),
    "ES256": key("p256", kty="EC", crv="P-256"), "ES384": key("p384", kty="EC", crv="P-384"),
    "EdDSA": key("ed", kty="OKP", crv="Ed25519"),
}
ABOUT = {"tokens.issuer": ISSUER, "tokens.audience": "reveille, reveille-web"}


def write_set(path, *keys):
    path.write_text(json.dumps({"keys": [json.loads(each.export_public()) for each in keys]}))


def check_files():
    path = FOLDER / "jwks.json"
    odd = key("odd", kty="EC", crv="P-521")
    write_set(path, *KEYS.values(), odd)
    settings = ABOUT | {"tokens.keys": f"[{path}]"}
    server = Server("files", settings)
    server.wait('key "odd" is left out: its crv is "P-521"')
    print("keys from a file")
    for algorithm, signer in KEYS.items():
        assert server.ask(token(signer, algorithm)) == "taken", algorithm
    assert server.ask(token(KEYS["RS256"], "PS256")) == "taken"
    assert server.ask(token(KEYS["ES256"], "ES256", kid=False, aud=["x", "reveille-web"])) == "taken"
    expect(server.ask(token(KEYS["PS256"], "RS256")), 'the key "pss" is for "PS256"')
    expect(server.ask(token(KEYS["RS256"], "RS256", aud="other")),
           'has aud "other"; this server wants "reveille" or "reveille-web"')
    expect(server.ask(token(KEYS["RS256"], "RS256", iss="https://evil.example/")), f'this server wants "{ISSUER}"')
    expect(server.ask(token(KEYS["RS256"], "RS256", exp=int(time.time()) - 1)), "has expired: exp is")
    expect(server.ask(token(odd, "ES512")), 'has the alg "ES512" in its header; only')
    stranger = key("rsa", kty="RSA", size=2048)
    expect(server.ask(token(stranger, "RS256")), 'is not signed with the key "rsa"')
    own = subprocess.run([REVEILLE, "token", "bob", "--data", server.data], check=True, capture_output=True, text=True)
    own = own.stdout.strip()
    assert server.ask(own) == "taken"
    assert server.metric('reveille_tokens_refused_total{cause="audience"}') == 1
    assert server.metric("reveille_token_keys") == 5

    print("reveille token explain")
    good = token(KEYS["RS256"], "RS256")
    expect(server.explain(good, 0), "taken: alice")
    expect(server.explain(token(KEYS["RS256"], "RS256", aud="other"), 1), 'refused: The token has aud "other"')
    expect(server.explain(own, 0), "with the server's secret")

    print("rotation of the file")
    new = key("new", kty="RSA", size=2048)
    expect(server.ask(token(new, "RS256")), 'has the kid "new" in its header; the identity provider has no such key')
    write_set(path, new)
    lines = server.reload()
    assert any("the keys of user tokens changed" in line for line in lines), lines
    # A token that was good, and is cached no more.
    expect(server.ask(good), 'has the kid "rsa" in its header')
    assert server.ask(token(new, "RS256")) == "taken"
    path.write_text("{")
    lines = server.reload()
    assert any("is not valid JSON" in line for line in lines), lines
    assert server.ask(token(new, "RS256")) == "taken"
    write_set(path, new)

    print("rotation of the secret")
    file = server.data / "client-token.key"
    old, fresh = file.read_text().strip(), "ab" * 32
    file.write_text(f"{fresh}\n{old}\n")
    server.reload()
    fresh_token = jwt.encode({"sub": "bob", "exp": int(time.time()) + 60}, bytes.fromhex(fresh), algorithm="HS256")
    assert server.ask(own) == "taken" and server.ask(fresh_token) == "taken"
    file.write_text(f"{fresh}\n")
    server.reload()
    expect(server.ask(own), "is not signed with this server's key")
    assert server.ask(fresh_token) == "taken"
    server.stop()


def flood(server, until):
    while time.monotonic() < until:
        stranger = key(str(uuid.uuid4()), kty="OKP", crv="Ed25519")
        assert server.ask(token(stranger, "EdDSA")) != "taken"


def check_address(meanwhile):
    """`meanwhile` runs while the server may not fetch the keys again; in the long form the flood takes that time."""
    provider = Provider(free_port())
    one, two = key("one", kty="RSA", size=2048), key("two", kty="EC", crv="P-256")
    provider.serve(one, Cache_Control="max-age=3600")
    settings = ABOUT | {"tokens.jwks_url": f"http://127.0.0.1:{provider.server_port}/jwks.json"}
    server = Server("address", settings)
    fetched = time.monotonic()
    print("keys by address")
    first = token(one, "RS256")
    assert server.ask(first) == "taken"
    assert provider.requests == 1
    provider.serve(one, two)
    assert server.ask(token(two, "ES256")) == "later"
    print(f"  a key that is new within {SPACING} s of a fetch has to wait, and is not refused")
    assert provider.requests == 1

    print("a flood of unknown kids")
    if IS_SHORT:
        flood(server, fetched + 2)
        assert provider.requests == 1, provider.requests
        meanwhile()
        time.sleep(max(0, fetched + SPACING + 0.5 - time.monotonic()))
        flood(server, time.monotonic() + 1)
    else:
        flood(server, fetched + SPACING + 10)
        meanwhile()
    assert provider.requests == 2, provider.requests
    assert server.ask(token(two, "ES256")) == "taken"
    assert server.metric('reveille_token_key_fetches_total{result="ok"}') == 2

    print("the provider is down, and the server starts again")
    provider.stop()
    server.stop()
    server = Server("address", settings)
    server.wait("cannot fetch the identity provider's keys")
    assert server.ask(first) == "taken" and server.ask(token(two, "ES256")) == "taken"
    expect(server.explain(first, 0), "taken: alice")
    server.stop()


def check_bad_answers():
    """A server that has the keys keeps them whatever the provider answers."""
    print("bad answers")
    one, port = key("one", kty="RSA", size=2048), free_port()
    settings = ABOUT | {"tokens.jwks_url": f"http://127.0.0.1:{port}/jwks.json"}
    good = token(one, "RS256")
    for name, change, reason in [
        ("a good answer", {}, "listening"),
        ("a redirect", {"status": 302, "fields": {"Location": "https://evil.example/"}},
         "the status 302 to https://evil.example, which is not followed"),
        ("too long", {"body": b" " * 65_537}, "longer than 65536 bytes"),
        ("a page", {"body": b"<html>"}, "holds neither a JWK Set"),
        ("no key", {"body": b'{"keys":[]}'}, "no key that can be used"),
        ("an error", {"status": 503}, "the status 503"),
        ("slow", {"delay": 7}, "no response within 5000 ms"),
        ("encoded", {"fields": {"Content-Encoding": "gzip"}}, "is encoded (gzip)"),
    ]:
        provider = Provider(port)
        provider.serve(one)
        for member, value in change.items():
            setattr(provider, member, value)
        server = Server("answers", settings)
        server.wait(reason)
        assert server.ask(good) == "taken", name
        print(f"  {name}: {next(line for line in server.log if reason in line)}")
        server.stop()
        provider.stop()


def others():
    check_files()
    check_bad_answers()


check_address(others)
print("ok")
