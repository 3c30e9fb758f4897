import ByteMutation
import Foundation
import Testing

@testable import ClientTokens

@Suite("A set of keys")
struct TokenKeySetTests {
    private func set(_ text: String) throws -> TokenKeySet { try TokenKeySet(Array(text.utf8), source: "keys.json") }

    @Test(
        "costs as much as it is long, whatever an identity provider serves",
        arguments: [
            #"{"keys":[{"kty":"§"}]}"#, #"{"keys":[{"kty":"RSA","n":"§","e":"AQAB"}]}"#, #"{"§":[],"keys":[]}"#,
            #"{"keys":[{"kty":"EC","crv":"§","x":"§","y":"AQAB"}]}"#, #"{"keys":[{"kty":"OKP","kid":"§","use":"§"}]}"#,
            #"{"keys":[{"kty":"RSA","alg":"§","key_ops":["§"]}]}"#, "-----BEGIN PUBLIC KEY-----\n§", "§",
        ])
    func cost(_ form: String) {
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 4000) { count in
                form.replacing("§", with: String(decoding: worst.bytes(count), as: UTF8.self))
            } _: { text in
                _ = try? set(text)
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
        }
    }

    @Test("costs as much as it is long, however many keys it has")
    func costOfMany() {
        for key in ["{}", "1", #"{"kty":"RSA"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AQAB"}"#] {
            let growth = WorstInput.growth(at: 500) { count in
                let keys = Array(repeating: key, count: count).joined(separator: ",")
                return #"{"keys":[\#(keys)]}"#
            } _: { text in
                _ = try? set(text)
            }
            #expect(growth <= WorstInput.mostGrowth, "\(key)")
        }
    }

    @Test("costs little at the greatest length, and gives few reasons for what is left out")
    func costOfLongest() throws {
        // Any 32 bytes are a key of Ed25519.
        let keys = (0..<800).map { number in
            let x = Base64URL.encode([UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 30))
            return #"{"kty":"OKP","crv":"Ed25519","x":"\#(x)"}"#
        }
        let sets = [keys, Array(repeating: "{}", count: 20_000)].map { keys in
            #"{"keys":[\#(keys.joined(separator: ","))]}"#
        }
        let blocks = String(repeating: "-----BEGIN X-----\n-----END X-----\n", count: 1800)
        for text in sets + [blocks] {
            #expect(text.utf8.count > 56_000 && text.utf8.count <= 65_536)
            #expect(WorstInput.isQuick { _ = try? self.set(text) }, "\(text.prefix(40))")
            let read = try self.set(text)
            #expect(read.keys.count + read.leftOut.count == TokenKeySet.mostKeys + 1, "\(text.prefix(40))")
        }
    }

    @Test("is read key by key: each unusable key is left out with its reason, and the others count")
    func odd() throws {
        let set = try TokenVectors.all.keySet("odd")
        #expect(set.keys.map(\.id) == ["good"])
        #expect(
            set.leftOut.map(\.description) == [
                #"key "enc" is left out: its use is "enc", not "sig""#,
                #"key "ops" is left out: its key_ops are ["encrypt"], without "verify""#,
                #"key "ops2" is left out: its key_ops are "verify", without "verify""#,
                #"key "short" is left out: it has 1024 bits, and an RSA key has 2048 to 8192"#,
                #"key "rs512" is left out: its alg is "RS512", which is not supported"#,
                #"key "es256" is left out: its alg is ES256, and such a key is for RS256 or PS256"#,
                #"key "hs256" is left out: its alg is HS256, and such a key is for RS256 or PS256"#,
                #"key "alg" is left out: its alg is 256, not text"#,
                "key 9 is left out: its kid is 7, not text",
                #"key "n" is left out: it has no n"#,
                #"key "e" is left out: its n and e are not an RSA key"#,
                #"key "padded" is left out: its n is not base64url without padding"#,
                #"key "private" is left out: it is a secret key; the set of public keys is all that this server needs"#,
                #"key "oct" is left out: it is a secret key; the set of public keys is all that this server needs"#,
                #"key "empty" is left out: it is a secret key, which has no place in a key set"#,
                #"key "curve" is left out: its x and y are not a point of the curve"#,
                #"key "length" is left out: its x has 31 bytes, not 32"#,
                #"key "crv" is left out: its x has 32 bytes, not 48"#,
                #"key "p521" is left out: its crv is "P-521", which is not supported"#,
                #"key "x25519" is left out: its crv is "X25519", which is not supported"#,
                #"key "ed" is left out: its x has 31 bytes, not 32"#,
                #"key "new" is left out: its kty is "AKP", which is not supported"#,
                #"key "nothing" is left out: it has no kty"#,
                "key 24 is left out: it is not a JSON object",
                "key 25 is left out: it is not a JSON object",
                "key \"\(String(repeating: "x", count: 100))…\" is left out: its kid is longer than 256 bytes",
            ])
    }

    @Test("has the algorithms that its keys are for")
    func algorithms() throws {
        let keys = try TokenVectors.all.keySet("all").keys
        #expect(keys.map(\.algorithms) == [[.rs256, .ps256], [.rs256], [.es256], [.es384], [.edDSA]])
        let pem = try TokenVectors.all.keySet("pem")
        #expect(pem.keys.map(\.algorithms) == [[.rs256, .ps256], [.rs256, .ps256], [.es256], [.es384], [.edDSA]])
        #expect(pem.keys.allSatisfy { $0.id == nil } && pem.leftOut.isEmpty)
    }

    @Test("of RFC 7517 is read: the examples of public keys, and no private one")
    func standard() throws {
        let set = try TokenVectors.all.keySet("RFC 7517, A.1")
        #expect(set.keys.map(\.id) == ["2011-04-29"] && set.keys.map(\.algorithms) == [[.rs256]])
        #expect(set.leftOut.map(\.description) == [#"key "1" is left out: its use is "enc", not "sig""#])
        #expect(try TokenVectors.all.keySet("RFC 7517, A.2").keys == [])
    }

    @Test("that is no set is refused with the reason")
    func failures() {
        for (text, words) in [
            ("", "holds neither a JWK Set nor a public key in PEM"),
            ("[]", "holds neither a JWK Set nor a public key in PEM"),
            ("{", "is not valid JSON: it ends in the middle of a value at byte 1"),
            ("{}", "is JSON without \"keys\""), (#"{"keys":{}}"#, "has \"keys\" that is no list"),
            (#"{"keys":[],"keys":[]}"#, #"has "keys" twice"#),
            ("-----BEGIN PUBLIC KEY-----\nAAAA", "has -----BEGIN PUBLIC KEY----- without its end"),
        ] {
            #expect {
                try set(text)
            } throws: {
                ($0 as? TokenKeySet.Failure)?.description.contains(words) == true
            }
        }
    }

    @Test("leaves out a key with a repeated member")
    func repeated() throws {
        let set = try set(#"{"keys":[{"kty":"EC","kid":"a","k\u0069d":"b"}]}"#)
        #expect(set.leftOut.map(\.description) == [#"key 1 is left out: it has "kid" twice"#])
    }

    @Test("in PEM leaves out what is no public key, with advice")
    func pem() throws {
        func block(_ label: String, _ body: String = "AAAA") -> String {
            "-----BEGIN \(label)-----\n\(body)\n-----END \(label)-----\n"
        }
        let good = try #require(TokenVectors.all.sets["pkcs1"])
        let text =
            block("CERTIFICATE") + block("PRIVATE KEY") + block("EC PRIVATE KEY") + block("X") + block("PUBLIC KEY")
            + block("PUBLIC KEY", "%") + "a comment\n" + good
        let set = try set(text)
        #expect(set.keys.count == 1)
        #expect(
            set.leftOut.map(\.reason) == [
                "it is a certificate; get its key with: openssl x509 -pubkey -noout -in FILE",
                "it is a private key; get its public one with: openssl pkey -pubout -in FILE",
                "it is a private key; get its public one with: openssl pkey -pubout -in FILE",
                "it is a \"X\", not a PUBLIC KEY", "it is not a key of RSA, P-256, P-384 or Ed25519",
                "it is not base64",
            ])
    }

    @Test("has at most 64 keys, and one key once")
    func bound() throws {
        func jwk(_ id: Int) throws -> String {
            let set = try #require(TokenVectors.all.sets["jwk"])
            return set.replacing("\"p256\"", with: "\"k\(id)\"")
        }
        let keys = try (0..<66).map(jwk)
        let set = try set("{\"keys\":[\(keys.joined(separator: ","))]}")
        #expect(set.keys.count == 64 && set.keys.last?.id == "k63")
        #expect(set.leftOut.map(\.name) == ["key 65 and each one after it"])
        let twice = try self.set("{\"keys\":[\(keys[0]),\(keys[0])]}")
        #expect(twice.keys.count == 1 && twice.leftOut.isEmpty)
    }
}
