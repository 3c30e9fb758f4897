"""Makes Tests/ClientTokensTests/Vectors/tokens.json with jwcrypto and PyJWT: key sets, tokens and what the server
must say of each. The private keys are thrown away. Signatures of RSA-PSS and ECDSA differ from run to run."""

import base64
import hashlib
import hmac
import json
import sys

import jwt
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from jwcrypto import jwk, jwt as jwcrypto_jwt, tests as rfc

ISSUER = "https://id.example.com/"
AUDIENCE = "reveille"
GOOD = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "exp": 4_000_000_000, "iat": 1_700_000_000}
SECRET = bytes(range(32))
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493


def b64(data):
    if isinstance(data, str):
        data = data.encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def public(key, **members):
    """The public JWK with these members; None takes one away."""
    found = json.loads(key.export_public())
    found.pop("kid", None)
    found.update(members)
    return {name: value for name, value in found.items() if value is not None}


def private(key):
    return serialization.load_pem_private_key(key.export_to_pem(private_key=True, password=None), None)


def sign(key, algorithm, claims=GOOD, **header):
    """A token by PyJWT."""
    return jwt.encode(claims, private(key), algorithm=algorithm, headers={"typ": None, **header})


def raw(key, algorithm, header, claims):
    """A token whose header and claims are these texts, signed with PyJWT's algorithm."""
    signed = b64(header) + "." + b64(claims)
    signature = jwt.get_algorithm_by_name(algorithm).sign(signed.encode(), private(key))
    return signed + "." + b64(signature)


def hs256(secret, header, claims):
    signed = b64(header) + "." + b64(claims)
    return signed + "." + b64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())


def resigned(token, signature):
    return token.rsplit(".", 1)[0] + "." + b64(signature)


def signature(token):
    part = token.rsplit(".", 1)[1]
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


rsa_key = jwk.JWK.generate(kty="RSA", size=2048)
rsa_pinned = jwk.JWK.generate(kty="RSA", size=3072)
rsa_other = jwk.JWK.generate(kty="RSA", size=2048)
rsa_short = jwk.JWK.from_pyca(rsa.generate_private_key(65537, 1024))
p256 = jwk.JWK.generate(kty="EC", crv="P-256")
p256_other = jwk.JWK.generate(kty="EC", crv="P-256")
p384 = jwk.JWK.generate(kty="EC", crv="P-384")
p521 = jwk.JWK.generate(kty="EC", crv="P-521")
ed = jwk.JWK.generate(kty="OKP", crv="Ed25519")
x25519 = jwk.JWK.generate(kty="OKP", crv="X25519")

sets = {
    "all": {
        "keys": [
            public(rsa_key, kid="rsa", use="sig"),
            public(rsa_pinned, kid="rs256", alg="RS256"),
            public(p256, kid="p256", key_ops=["verify"]),
            public(p384, kid="p384", alg="ES384"),
            public(ed, kid="ed", x5t="ignored"),
        ]
    },
    "one": {"keys": [public(rsa_key, kid="rsa")]},
    "none": {"keys": []},
    "jwk": public(p256, kid="p256"),
    "twins": {"keys": [public(p256_other, kid="twin"), public(p256, kid="twin"), public(rsa_key, kid="twin")]},
    "unnamed": {"keys": [public(p256_other), public(p256)]},
    "pem": "".join(
        key.export_to_pem().decode() for key in (rsa_other, rsa_key, p256, p384, ed)
    ),
    "pkcs1": private(rsa_key).public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.PKCS1).decode(),
    "unicode": {"keys": [public(p256, kid="cl\u00e9")]},
    "odd": {
        "keys": [
            public(rsa_key, kid="enc", use="enc"),
            public(rsa_key, kid="ops", key_ops=["encrypt"]),
            public(rsa_key, kid="ops2", key_ops="verify"),
            public(rsa_short, kid="short"),
            public(rsa_key, kid="rs512", alg="RS512"),
            public(rsa_key, kid="es256", alg="ES256"),
            public(rsa_key, kid="hs256", alg="HS256"),
            public(rsa_key, kid="alg", alg=256),
            public(rsa_key, kid=7),
            public(rsa_key, kid="n", n=None),
            public(rsa_key, kid="e", e="AA"),
            public(rsa_key, kid="padded", n=json.loads(rsa_key.export_public())["n"] + "="),
            json.loads(p256.export_private()) | {"kid": "private"},
            {"kty": "oct", "kid": "oct", "k": b64(SECRET)},
            {"kty": "oct", "kid": "empty"},
            public(p256, kid="curve", y=json.loads(p256_other.export_public())["y"]),
            public(p256, kid="length", x=b64(bytes(31))),
            public(p256, kid="crv", crv="P-384"),
            public(p521, kid="p521"),
            public(x25519, kid="x25519"),
            public(ed, kid="ed", x=b64(bytes(31))),
            {"kty": "AKP", "kid": "new", "alg": "ML-DSA-44", "pub": "AA"},
            {"kid": "nothing"},
            "text",
            None,
            public(rsa_key, kid="x" * 257),
            public(p256, kid="good"),
        ]
    },
}

cases = []


def case(name, keys, token, expect, **options):
    cases.append({"name": name, "set": keys, "token": token, "expect": expect, **options})


# ---- good tokens
for kid, key, algorithm in [
    ("rsa", rsa_key, "RS256"), ("rsa", rsa_key, "PS256"), ("rs256", rsa_pinned, "RS256"), ("p256", p256, "ES256"),
    ("p384", p384, "ES384"), ("ed", ed, "EdDSA"),
]:
    case(f"{algorithm} of {kid}, by PyJWT", "all", sign(key, algorithm, kid=kid), "alice")
    made = jwcrypto_jwt.JWT(header={"alg": algorithm, "kid": kid, "typ": "JWT"}, claims=GOOD)
    made.make_signed_token(key)
    case(f"{algorithm} of {kid}, by jwcrypto", "all", made.serialize(), "alice")
case("without kid, and one key", "one", sign(rsa_key, "RS256"), "alice")
case("without kid, and one key for the alg", "all", sign(p256, "ES256"), "alice")
case("of a single JWK", "jwk", sign(p256, "ES256", kid="p256"), "alice")
case("of the second key of one kid", "twins", sign(p256, "ES256", kid="twin"), "alice")
case("of another kind of key of that kid", "twins", sign(rsa_key, "PS256", kid="twin"), "alice")
case("of the second key without kid", "unnamed", sign(p256, "ES256"), "alice")
for key, algorithm in [(rsa_key, "RS256"), (rsa_key, "PS256"), (p256, "ES256"), (p384, "ES384"), (ed, "EdDSA")]:
    case(f"{algorithm} of PEM, with a kid that PEM cannot say", "pem", sign(key, algorithm, kid="any"), "alice")
    case(f"{algorithm} of PEM, without a kid", "pem", sign(key, algorithm), "alice")
    case(f"{algorithm} of a key that is not in PEM", "pem",
         sign(jwk.JWK.generate(**{"RS256": {"kty": "RSA", "size": 2048}, "PS256": {"kty": "RSA", "size": 2048},
                                  "ES256": {"kty": "EC", "crv": "P-256"}, "ES384": {"kty": "EC", "crv": "P-384"},
                                  "EdDSA": {"kty": "OKP", "crv": "Ed25519"}}[algorithm]), algorithm, kid="any"),
         'has the kid "any" in its header; the identity provider has no such key, and it is not signed with a key of pem')
case("of PKCS #1 in PEM", "pkcs1", sign(rsa_key, "RS256"), "alice")
case("for several audiences", "all", sign(p256, "ES256", GOOD | {"aud": ["other", AUDIENCE]}, kid="p256"), "alice")
case("of the server's secret", "all", hs256(SECRET, '{"alg":"HS256"}', '{"sub":"bob","exp":4000000000}'), "bob")
case("of the server's secret, with a kid of the set", "all",
     hs256(SECRET, '{"alg":"HS256","kid":"rsa"}', '{"sub":"bob","exp":4000000000}'), "bob")
case("with the user in a claim of another name", "all",
     sign(p256, "ES256", GOOD | {"https://example.com/handle": "carol"}, kid="p256"), "carol",
     userClaim="https://example.com/handle")

# ---- the algorithm is not the token's to choose
claims = json.dumps(GOOD)
for name in ["none", "None", "nOnE", "NONE", ""]:
    case(f"alg {name!r}, unsigned", "all", b64(json.dumps({"alg": name, "kid": "rsa"})) + "." + b64(claims) + ".",
         f'has the alg "{name}" in its header; only "HS256", "RS256", "PS256", "ES256", "ES384" and "EdDSA" are taken')
case("no alg, unsigned", "all", b64("{}") + "." + b64(claims) + ".", "has no alg")
pem = rsa_key.export_to_pem()
modulus = base64.urlsafe_b64decode(json.loads(rsa_key.export_public())["n"] + "==")
for name, secret in [
    ("the RSA key in PEM", pem), ("the RSA key in PEM without the last line's end", pem.rstrip()),
    ("the RSA key in DER", base64.b64decode(b"".join(pem.splitlines()[1:-1]))), ("the modulus", modulus),
    ("the JWK", rsa_key.export_public().encode()), ("the JWK Set", json.dumps(sets["all"]).encode()), ("nothing", b""),
    ("the EC point", b"\x04" + base64.urlsafe_b64decode(json.loads(p256.export_public())["x"] + "=")),
]:
    for kid in ["rsa", "p256"]:
        case(f"HS256 with {name} as the secret, kid {kid}", "all",
             hs256(secret, json.dumps({"alg": "HS256", "kid": kid}), claims), "is not signed with this server's key")
for name in ["HS384", "HS512", "RS384", "RS512", "PS384", "PS512", "ES512", "ES256K", "RSA1_5", "EdDSA ", "rs256"]:
    case(f"alg {name}", "all", raw(rsa_key, "RS256", json.dumps({"alg": name, "kid": "rsa"}), claims),
         f'has the alg "{name}" in its header; only')
case("PS256 by a key that is for RS256", "all", sign(rsa_pinned, "PS256", kid="rs256"),
     'has the alg "PS256" in its header; the key "rs256" is for "RS256"')
case("PS256 forged for a key without alg", "all", resigned(sign(rsa_key, "PS256", kid="rsa"), bytes(256)),
     'is not signed with the key "rsa"')
case("RS256 after the forged PS256", "all", sign(rsa_key, "RS256", kid="rsa"), "alice")
case("PS256's signature in a token that says RS256", "all",
     resigned(raw(rsa_key, "RS256", '{"alg":"RS256","kid":"rsa"}', claims),
              private(rsa_key).sign(
                  (b64('{"alg":"RS256","kid":"rsa"}') + "." + b64(claims)).encode(),
                  padding.PSS(padding.MGF1(hashes.SHA256()), 32), hashes.SHA256())), 'is not signed with the key "rsa"')
case("PS256 with the longest salt", "all",
     resigned(raw(rsa_key, "PS256", '{"alg":"PS256","kid":"rsa"}', claims),
              private(rsa_key).sign(
                  (b64('{"alg":"PS256","kid":"rsa"}') + "." + b64(claims)).encode(),
                  padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.MAX_LENGTH), hashes.SHA256())),
     'is not signed with the key "rsa"')
for algorithm, kid, key in [("ES256", "rsa", p256), ("RS256", "p256", rsa_key), ("ES384", "p256", p384),
                            ("ES256", "p384", p256), ("EdDSA", "p256", ed), ("ES256", "ed", p256),
                            ("PS256", "ed", rsa_key)]:
    case(f"{algorithm} with the kid {kid}", "all", sign(key, algorithm, kid=kid),
         f'has the alg "{algorithm}" in its header; the key "{kid}" is for')

# ---- keys in the header, and extensions
attacker = json.loads(rsa_other.export_public())
for member, value in [
    ("jwk", attacker), ("jku", "https://evil.example/jwks.json"), ("x5u", "https://evil.example/cert.pem"),
    ("x5c", ["MIIB"]), ("x5t", "AAAA"),
]:
    case(f"{member} of the attacker", "all", sign(rsa_other, "RS256", kid="rsa", **{member: value}),
         'is not signed with the key "rsa"')
    case(f"{member} of the attacker, with his kid", "all", sign(rsa_other, "RS256", kid="evil", **{member: value}),
         'has the kid "evil" in its header; the identity provider has no such key')
    case(f"{member} in a good token", "all", sign(rsa_key, "RS256", kid="rsa", **{member: value}), "alice")
for critical in ['["b64"]', '["exp"]', "[]", '"b64"', "{}", "true", '["urn:example:x"]']:
    case(f"crit {critical}", "all",
         raw(rsa_key, "RS256", '{"alg":"RS256","kid":"rsa","b64":true,"crit":%s}' % critical, claims),
         f"has crit {critical} in its header")

# ---- kid
case("unknown kid", "all", sign(rsa_key, "RS256", kid="new"), 'has the kid "new" in its header')
case("empty kid", "all", sign(rsa_key, "RS256", kid=""), 'has the kid "" in its header')
case("a path as kid", "all", sign(rsa_key, "RS256", kid="../../dev/null"), 'has the kid "../../dev/null"')
for kid in ["7", "[\"rsa\"]", "{}", "true"]:
    case(f"kid {kid}", "all", raw(rsa_key, "RS256", '{"alg":"RS256","kid":%s}' % kid, claims),
         f"has the kid {kid} in its header; expected text")
case("no kid, and two keys", "all", sign(rsa_key, "RS256"), "has no kid in its header; 2 keys are for RS256")
case("no kid, and no key", "none", sign(rsa_key, "RS256"), "has no kid in its header; no key is for RS256")
case("kid, and no key", "none", sign(rsa_key, "RS256", kid="rsa"), 'has the kid "rsa" in its header')
case("null kid, and one key", "one", raw(rsa_key, "RS256", '{"alg":"RS256","kid":null}', claims), "alice")
case("another spelling of the kid", "unicode", sign(p256, "ES256", kid="cle\u0301"), "the identity provider has no such key")
case("the spelling of the kid", "unicode", sign(p256, "ES256", kid="cl\u00e9"), "alice")
case("a kid of another letter case", "all", sign(rsa_key, "RS256", kid="RSA"), 'has the kid "RSA" in its header')
case("neither key of that kid", "twins", sign(p256_other, "ES256", kid="twin"), "alice")
case("no key of that kid", "twins", sign(jwk.JWK.generate(kty="EC", crv="P-256"), "ES256", kid="twin"),
     'is not signed with the key "twin" or the key "twin"')
for kid in ["enc", "ops", "ops2", "short", "rs512", "es256", "hs256", "private", "curve", "x" * 257]:
    key = rsa_short if kid == "short" else p256 if kid in ("private", "curve") else rsa_key
    algorithm = "ES256" if kid in ("private", "curve") else "RS256"
    case(f"a key that is left out, {kid[:9]}", "odd", sign(key, algorithm, kid=kid),
         "the identity provider has no such key")
case("the good key among odd ones", "odd", sign(p256, "ES256", kid="good"), "alice")

# ---- signatures
good = sign(p256, "ES256", kid="p256")
r, s = signature(good)[:32], signature(good)[32:]
numbers = int.from_bytes(r), int.from_bytes(s)
for name, changed in [
    ("in DER", encode_dss_signature(*numbers)), ("a byte short", (r + s)[:-1]), ("a byte long", r + s + b"\0"),
    ("with longer numbers", bytes(16) + r + bytes(16) + s), ("empty", b""), ("of zeros", bytes(64)),
    ("with r = 0", bytes(32) + s), ("with s = 0", r + bytes(32)), ("with r and s = n", P256_ORDER.to_bytes(32) * 2),
    ("with r and s swapped", s + r), ("of 255s", b"\xff" * 64),
    ("with a bit changed", bytes([r[0] ^ 1]) + r[1:] + s),
]:
    case(f"ES256, the signature {name}", "all", resigned(good, changed), 'is not signed with the key "p256"')
# Both numbers of a signature are in range, as RFC 7518 wants: s is not made small.
case("ES256 with the other s", "all", resigned(good, r + (P256_ORDER - numbers[1]).to_bytes(32)), "alice")
good = sign(p384, "ES384", kid="p384")
for name, changed in [("of 64 bytes", signature(good)[:64]), ("of zeros", bytes(96)),
                      ("in DER", encode_dss_signature(int.from_bytes(signature(good)[:48]),
                                                      int.from_bytes(signature(good)[48:])))]:
    case(f"ES384, the signature {name}", "all", resigned(good, changed), 'is not signed with the key "p384"')
good = sign(rsa_key, "RS256", kid="rsa")
for name, changed in [
    ("empty", b""), ("of zeros", bytes(256)), ("a byte short", signature(good)[:-1]), ("0", b"\0"), ("1", b"\1"),
    ("with a leading zero", b"\0" + signature(good)), ("too large", b"\xff" * 256), ("doubled", signature(good) * 2),
]:
    case(f"RS256, the signature {name}", "all", resigned(good, changed), 'is not signed with the key "rsa"')
good = sign(ed, "EdDSA", kid="ed")
point, number = signature(good)[:32], int.from_bytes(signature(good)[32:], "little")
for name, changed in [
    ("empty", b""), ("of zeros", bytes(64)), ("a byte short", signature(good)[:-1]), ("a byte long", signature(good) + b"\0"),
    ("with S above the order", point + (number + ED25519_ORDER).to_bytes(32, "little")),
]:
    case(f"EdDSA, the signature {name}", "all", resigned(good, changed), 'is not signed with the key "ed"')
good = sign(rsa_key, "RS256", kid="rsa")
for name, changed in [
    ("claims of another token", ".".join([good.split(".")[0], b64(claims.replace("alice", "bob")), good.split(".")[2]])),
    ("header of another token", b64('{"alg":"RS256","kid":"rsa","typ":"x"}') + good[good.index("."):]),
]:
    case(f"the {name}", "all", changed, 'is not signed with the key "rsa"')

# ---- the form of the token
last = good[-1]
for name, token, expect in [
    ("of five parts, as an encrypted one", good + ".a.b", "it has 5 parts"),
    ("in the JSON serialization", json.dumps({"protected": good.split(".")[0]}), "it has 1 part"),
    ("with white space behind it", good + " ", "the part signature is not base64url"),
    ("with a line's end behind it", good + "\n", "the part signature is not base64url"),
    ("with padding", good + "==", "the part signature is not base64url"),
    ("with bits behind the signature", good[:-1] + chr(ord(last) + 1 if last not in "Zz9_-" else ord(last) - 1),
     "the part signature is not base64url"),
    ("of 16385 bytes", good.ljust(16_385, "A"), "it has 16385 bytes, this server takes 16384"),
    ("with 50 groups", sign(p256, "ES256", GOOD | {"groups": ["x" * 60] * 50}, kid="p256"), "alice"),
]:
    case(name, "all", token, expect)
header = '{"alg":"RS256","kid":"rsa"}'
for name, header, claims_text, expect in [
    ("alg twice", '{"alg":"none","alg":"RS256","kid":"rsa"}', claims, 'the part header has "alg" twice'),
    ("alg twice, once escaped", '{"alg":"RS256","\\u0061lg":"none","kid":"rsa"}', claims, 'the part header has "alg" twice'),
    ("kid twice", '{"alg":"RS256","kid":"evil","kid":"rsa"}', claims, 'the part header has "kid" twice'),
    ("sub twice", header, claims[:-1] + ',"sub":"bob"}', 'the part claims has "sub" twice'),
    ("exp twice, once null", header, '{"exp":null,' + claims[1:], 'the part claims has "exp" twice'),
    ("claims that are a list", header, "[]", "the part claims is not a JSON object"),
    ("empty claims", header, "", "the part claims is not valid JSON"),
    ("a header that is text", '"RS256"', claims, "the part header is not a JSON object"),
    ("nested too deep", header, '{"x":' + "[" * 500 + "]" * 500 + "}", "the part claims is not valid JSON"),
]:
    case(name, "all", raw(rsa_key, "RS256", header, claims_text), expect)

# ---- claims
for name, change, expect in [
    ("no iss", {"iss": None}, 'has no iss; expected "https://id.example.com/"'),
    ("another iss", {"iss": "https://id.example.com"}, 'has iss "https://id.example.com"; this server wants "https://id.example.com/"'),
    ("an iss in a list", {"iss": [ISSUER]}, 'has iss ["https://id.example.com/"]; this server wants'),
    ("no aud", {"aud": None}, 'has no aud; expected "reveille"'),
    ("another aud", {"aud": "other"}, 'has aud "other"; this server wants "reveille"'),
    ("other auds", {"aud": ["other", "reveille2"]}, 'has aud ["other","reveille2"]; this server wants "reveille"'),
    ("an empty aud", {"aud": []}, "has aud []; this server wants"),
    ("an aud of texts and numbers", {"aud": ["reveille", 7]}, 'has aud ["reveille",7]; this server wants'),
    ("an aud of a number", {"aud": 7}, "has aud 7; this server wants"),
    ("no exp", {"exp": None}, "has no exp; expected a number"),
    ("an exp of text", {"exp": "4000000000"}, 'has exp "4000000000"; expected a number'),
    ("exp in the past", {"exp": 1_799_999_999}, "has expired: exp is 1799999999"),
    ("exp now", {"exp": 1_800_000_000}, "has expired: exp is 1800000000"),
    ("nbf in a minute", {"nbf": 1_800_000_060}, "alice"),
    ("nbf later", {"nbf": 1_800_000_061}, "is not good yet: nbf is 1800000061"),
    ("iat in a minute", {"iat": 1_800_000_060}, "alice"),
    ("iat later", {"iat": 1_800_000_061}, "is not good yet: iat is 1800000061"),
    ("no iat", {"iat": None}, "alice"),
    ("no sub", {"sub": None}, "has no sub; expected the user's handle"),
    ("a sub of a number", {"sub": 7}, "has sub 7; expected the user's handle"),
    ("a sub with a space", {"sub": "a b"}, 'has sub "a b"; expected a handle'),
    ("a device", {"device_id": "6f1c0000-0000-4000-8000-000000000001"}, "alice"),
    ("whom one may call", {"call_to": ["bob", "+49*"], "calls_per_minute": 5}, "alice"),
    ("one whom one may call", {"call_to": "bob", "calls_per_minute": 5.0}, "alice"),
    ("call_to of numbers", {"call_to": [7]}, "has call_to [7]; expected a list of handles"),
    ("call_to with an empty text", {"call_to": [""]}, 'has call_to [""]; expected a list of handles'),
    ("call_to that is an object", {"call_to": {}}, "has call_to {}; expected a list of handles"),
    ("no calls a minute", {"calls_per_minute": 0}, "has calls_per_minute 0; expected a whole number from 1 to 1000"),
    ("calls a minute in text", {"calls_per_minute": "5"}, 'has calls_per_minute "5"; expected a whole number'),
    ("half a call a minute", {"calls_per_minute": 0.5}, "has calls_per_minute 0.5; expected a whole number"),
    ("calls a minute without end", {"calls_per_minute": 1e300}, "has calls_per_minute 1e+300; expected a whole number"),
    ("a device that is none", {"device_id": "x"}, 'has device_id "x"; expected a UUID'),
]:
    changed = {key: value for key, value in (GOOD | change).items() if value is not None}
    text = json.dumps(changed, separators=(",", ":"))
    case(name, "all", raw(p256, "ES256", '{"alg":"ES256","kid":"p256"}', text), expect)
case("no claim of the name", "all", sign(p256, "ES256", kid="p256"), "has no preferred_username; expected",
     userClaim="preferred_username")
case("the server's secret, for somebody else", "all",
     hs256(SECRET, '{"alg":"HS256"}', '{"sub":"bob","exp":4000000000,"aud":"other"}'),
     'has aud "other"; this server wants "reveille"')

# ---- RFC 7515, appendix A; RFC 8037, appendix A.4; RFC 7517, appendix A.1
def part(value):
    """A part of a token that jwcrypto has as bytes or encoded."""
    return value if isinstance(value, str) else b64(bytes(value))


eddsa = jwk.JWK(**rfc.PrivateKeys_EdDsa["keys"][0])
signed = b64('{"alg":"EdDSA"}') + "." + b64("Example of Ed25519 signing")
vectors = [
    {"name": "RFC 7515, A.2", "jwk": {n: rfc.A2_key[n] for n in ("kty", "n", "e")}, "algorithm": "RS256",
     "token": f"{part(rfc.A2_protected)}.{part(rfc.A2_payload)}.{part(rfc.A2_signature)}"},
    {"name": "RFC 7515, A.3", "jwk": {n: rfc.A3_key[n] for n in ("kty", "crv", "x", "y")}, "algorithm": "ES256",
     "token": f"{part(rfc.A3_protected)}.{part(rfc.A3_payload)}.{part(rfc.A3_signature)}"},
    {"name": "RFC 8037, A.4", "jwk": rfc.PublicKeys_EdDsa["keys"][0], "algorithm": "EdDSA",
     "token": signed + "." + b64(jwt.get_algorithm_by_name("EdDSA").sign(signed.encode(), private(eddsa)))},
]
assert vectors[2]["token"].endswith(
    ".hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
sets["RFC 7517, A.1"] = rfc.PublicKeys
sets["RFC 7517, A.2"] = rfc.PrivateKeys
secret = {
    "key": rfc.SymmetricKeys["keys"][1]["k"],
    "token": f"{part(rfc.A1_protected)}.{part(rfc.A1_payload)}.{part(rfc.A1_signature)}",
}

with open(sys.argv[1], "w") as file:
    json.dump(
        {"issuer": ISSUER, "audience": AUDIENCE, "secret": b64(SECRET), "now": 1_800_000_000, "sets": {
            name: value if isinstance(value, str) else json.dumps(value) for name, value in sets.items()
        }, "cases": cases, "vectors": vectors, "secretVector": secret},
        file, indent=1)
    file.write("\n")
print(f"{len(cases)} tokens")
