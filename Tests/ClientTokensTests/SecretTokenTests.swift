import ByteMutation
import CallVocabulary
import Testing

@testable import ClientTokens

/// Each kind of fault has its own diagnosis, which names the claim and its value.
@Suite("A token of the server's secret") struct SecretTokenTests {
    private let tokens = TokenSecret(Array(0..<32))
    private static let good = #"{"sub":"bob","exp":4000000000,"name":"Bob"}"#

    private func read(_ token: String) -> Result<TokenClaims, TokenRefusal> {
        Result { () throws(TokenRefusal) in try TokenVerifier(secrets: [tokens]).read(token) }
    }

    private func refusal(_ claims: String, header: String = #"{"alg":"HS256"}"#) -> TokenRefusal? {
        guard case .failure(let refusal) = read(tokens.sign(header: header, claims: claims.utf8)) else { return nil }
        return refusal
    }

    @Test("is parsed with its claims: whole and fractional times, members in any order, unknown members")
    func good() throws {
        let device = DeviceID(high: 7, low: 8)
        let claims = try read(
            tokens.sign(
                header: #"{"typ":"JWT","kid":"7","alg":"HS256","crit":null}"#,
                claims: """
                    {"iat":1,"x":{"exp":"no"},"exp":4000000000.25,"device_id":"\(device)","nbf":1.5e9,"sub":"bøb",\
                    "name":"B\\u00f8b"}
                    """.utf8)
        ).get()
        #expect(claims.user.text == "bøb" && claims.name == "Bøb" && claims.device == device)
        #expect(claims.expiresAt == Instant(milliseconds: 4_000_000_000_250))
        #expect(claims.notBefore == Instant(milliseconds: 1_500_000_000_000))
        let plain = try read(tokens.sign(claims: Self.good.utf8)).get()
        #expect(plain.notBefore == nil && plain.device == nil)
    }

    @Test("has a name of which the first bytes are kept, however long it is", arguments: ["M", "\u{E9}", "a\u{301}"])
    func longName(unit: String) throws {
        let name = String(repeating: unit, count: 3000)
        let claims = #"{"sub":"bob","exp":4000000000,"name":"\#(name)"}"#
        let kept = try #require(try read(tokens.sign(claims: claims.utf8)).get().name)
        #expect(kept.utf8.count <= FrameLimits.name && kept.utf8.count > FrameLimits.name - 4)
        #expect(name.utf8.starts(with: kept.utf8))
    }

    @Test(
        "costs as much as it is long to read, whatever texts are in its header",
        arguments: [
            #"{"alg":"§"}"#, #"{"alg":"RS256","kid":"§"}"#, #"{"alg":"HS256","kid":"§"}"#, #"{"alg":"HS256","§":1}"#,
            #"{"alg":"HS256","crit":["§"]}"#, #"{"alg":"HS256","typ":"§"}"#,
        ])
    func cost(header: String) throws {
        let keys = try TokenVectors.all.keySet("all").keys
        let provider = IdentityProvider(issuer: "https://idp", audiences: ["reveille"], keys: keys)
        let verifier = TokenVerifier(secrets: [tokens], provider: provider)
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 2800) { count in
                let filling = String(decoding: worst.bytes(count), as: UTF8.self)
                return tokens.sign(header: header.replacing("§", with: filling), claims: Self.good.utf8)
            } _: { token in
                _ = Result { () throws(TokenRefusal) in try verifier.read(token) }
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
        }
    }

    @Test(
        "costs as much as it is long to read, whatever texts are in its claims, and little at its greatest length",
        arguments: [
            #"{"sub":"§","exp":4000000000}"#, #"{"sub":"bob","exp":"§"}"#,
            #"{"sub":"bob","exp":4000000000,"name":"§"}"#, #"{"sub":"bob","exp":4000000000,"device_id":"§"}"#,
            #"{"sub":"bob","exp":4000000000,"§":"§"}"#, #"{"sub":"bob","exp":4000000000,"call_to":["§"]}"#,
            #"{"sub":"bob","exp":4000000000,"aud":["§"],"iss":"§"}"#, "§",
        ])
    func costOfClaims(_ form: String) {
        func token(_ worst: WorstInput, _ count: Int) -> String {
            let filling = String(decoding: worst.bytes(count), as: UTF8.self)
            return tokens.sign(claims: form.replacing("§", with: filling).utf8)
        }
        for worst in WorstInput.allCases {
            let growth = WorstInput.growth(at: 2800) {
                token(worst, $0)
            } _: { token in
                _ = read(token)
            }
            #expect(growth <= WorstInput.mostGrowth, "\(worst)")
            // Three quarters of a token are claims, but for the header and the signature.
            let longest = token(worst, (TokenVerifier.longest * 3 / 4 - 200) / form.count { $0 == "§" })
            #expect(longest.utf8.count <= TokenVerifier.longest)
            #expect(WorstInput.isQuick { _ = read(longest) }, "\(worst), of the greatest length")
        }
    }

    @Test(
        "may have any number as a time: it is cut, compared and explained, or is no time",
        arguments: [
            ("0", true), ("-1", true), ("9223372036854775807", true), ("-9223372036854775808", true),
            ("18446744073709551615", true), ("99999999999999999999", true), ("1e308", true), ("-1e308", true),
            ("253402300800", true), ("1e400", false), ("-1e400", false), ("\"5\"", false), ("\"+5\"", false),
            ("true", false), ("[5]", false),
        ])
    func anyTime(_ number: String, isTime: Bool) {
        let now = Instant(milliseconds: 1_790_000_000_000)
        let verifier = TokenVerifier(secrets: [tokens])
        for claims in [
            #"{"sub":"bob","exp":\#(number)}"#, #"{"sub":"bob","exp":4000000000,"nbf":\#(number)}"#,
            #"{"sub":"bob","exp":4000000000,"iat":\#(number)}"#,
        ] {
            let token = tokens.sign(claims: claims.utf8)
            switch read(token) {
            case .success(let claims):
                let times = [claims.expiresAt, claims.notBefore, claims.issuedAt].compactMap { $0?.milliseconds }
                #expect(isTime && times.allSatisfy { abs($0) <= 1_000_000_000_000_000 }, "\(times)")
            case .failure(let refusal): #expect(!isTime, "\(refusal)")
            }
            for instant in [now, Instant(milliseconds: .min), Instant(milliseconds: .max)] {
                if case .failure(let refusal) = verifier.explain(token, at: instant).verdict {
                    #expect((1...1500).contains(refusal.message.utf8.count))
                }
            }
        }
        for value in [number, "1001", "0.5"] {
            #expect(refusal(#"{"sub":"bob","exp":4000000000,"calls_per_minute":\#(value)}"#) != nil, "\(value)")
        }
    }

    @Test("that is not a JWT is refused with the reason")
    func malformed() {
        let token = tokens.sign(claims: Self.good.utf8)
        let parts = token.split(separator: ".").map(String.init)
        func joined(_ header: String, _ claims: String, _ signature: String) -> TokenRefusal? {
            if case .failure(let refusal) = read("\(header).\(claims).\(signature)") { refusal } else { nil }
        }
        for (text, count) in [("", 1), ("x", 1), ("a.b", 2), (token + ".x", 4), (parts[0] + "." + parts[1], 2)] {
            guard case .failure(let refusal) = read(text) else {
                Issue.record("\(text) is taken")
                continue
            }
            #expect(refusal == .malformed(.parts(count)))
        }
        for bad in ["=", "====", "%", "AA+A", "AA/A", "A", " "] {
            #expect(joined(bad, parts[1], parts[2]) == .malformed(.encoding("header")), "\(bad)")
            #expect(joined(parts[0], bad, parts[2]) == .malformed(.encoding("claims")), "\(bad)")
            #expect(joined(parts[0], parts[1], bad) == .malformed(.encoding("signature")), "\(bad)")
        }
        #expect(refusal(Self.good, header: "[]") == .malformed(.notAnObject("header")))
        #expect(refusal(#""bob""#) == .malformed(.notAnObject("claims")))
        for (claims, reason) in [
            ("{", "it ends in the middle of a value at byte 1"),
            (#"{"sub":"bob","exp":4000000000,"name":"\ud83d"}"#, "escaped surrogate without its other half at byte 38"),
            (#"{"sub":"\udc00","exp":4000000000}"#, "escaped surrogate without its other half at byte 8"),
            ("{\"sub\":\"b\u{1}\"}", "unescaped control character in a string at byte 9"),
            (Self.good + "x", "something follows the value at byte 43"),
        ] {
            #expect(refusal(claims) == .malformed(.json("claims", reason)), "\(claims)")
        }
        let cut = refusal(Self.good, header: #"{"alg":"HS256"#)?.message
        #expect(cut?.contains("the part header is not valid JSON") == true)
    }

    @Test("in standard base64, with or without padding, is refused in each of its parts")
    func standardBase64() {
        // These characters have different encodings in the two alphabets.
        let claims = #"{"sub":"bob","exp":4000000000,"name":"ÿÿÿ>>>???"}"#
        let parts = tokens.sign(claims: claims.utf8).split(separator: ".").map(String.init)
        func padded(_ text: String) -> String {
            text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        }
        for index in 0..<3 {
            var changed = parts
            changed[index] = padded(parts[index])
            guard changed != parts else { continue }
            guard case .failure(.malformed(.encoding))? = Optional(read(changed.joined(separator: "."))) else {
                Issue.record("padding of part \(index) is taken")
                continue
            }
        }
        #expect(parts[1].contains { "-_".contains($0) })
        let standard = parts[1].replacing("-", with: "+").replacing("_", with: "/")
        guard case .failure(.malformed(.encoding("claims"))) = read("\(parts[0]).\(standard).\(parts[2])") else {
            Issue.record("the standard alphabet is taken")
            return
        }
    }

    @Test(
        "of another algorithm is refused whatever its signature",
        arguments: [
            (#"{"alg":"none"}"#, #""none""#), (#"{"alg":"None"}"#, #""None""#), (#"{"alg":"hs256"}"#, #""hs256""#),
            (#"{"alg":"HS384"}"#, #""HS384""#), (#"{"alg":"RS256"}"#, #""RS256""#), (#"{"alg":""}"#, #""""#),
            (#"{"alg":256}"#, "256"), (#"{"alg":["HS256"]}"#, #"["HS256"]"#),
            (#"{}"#, nil), (#"{"alg":null}"#, nil),
        ])
    func algorithm(header: String, found: String?) {
        #expect(refusal(Self.good, header: header) == .algorithm(found: found))
        let unsigned = tokens.sign(header: header, claims: Self.good.utf8).split(separator: ".").dropLast()
        guard case .failure(.algorithm(let said, _)) = read(unsigned.joined(separator: ".") + ".") else {
            Issue.record("\(header) without a signature is taken")
            return
        }
        #expect(said == found)
    }

    @Test("with a critical extension is refused, because the server knows none")
    func critical() {
        let header = #"{"alg":"HS256","b64":false,"crit":["b64"]}"#
        #expect(refusal(Self.good, header: header) == .critical(found: #"["b64"]"#))
        #expect(refusal(Self.good, header: #"{"alg":"HS256","crit":[]}"#) == .critical(found: "[]"))
    }

    @Test("signed with another key, or changed in any character, is refused")
    func signature() {
        let other = TokenSecret(Array(1..<33)).sign(claims: Self.good.utf8)
        guard case .failure(.signature) = read(other) else {
            Issue.record("another key's token is not refused for its signature")
            return
        }
        let token = Array(tokens.sign(claims: Self.good.utf8).utf8)
        for index in token.indices where token[index] != UInt8(ascii: ".") {
            var forged = token
            forged[index] = forged[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            guard case .failure = read(String(decoding: forged, as: UTF8.self)) else {
                Issue.record("character \(index)")
                continue
            }
        }
        // Claims are checked only after a valid signature.
        guard case .failure(.signature) = read(TokenSecret([7]).sign(claims: "{}".utf8)) else {
            Issue.record("claims without a signature are diagnosed")
            return
        }
    }

    @Test(
        "without a required claim, or with an invalid one, is refused with the claim and its value",
        arguments: [
            (#"{"sub":"bob"}"#, "has no exp; expected a number"),
            (#"{"sub":"bob","exp":null}"#, "has no exp"),
            (#"{"sub":"bob","exp":"4000000000"}"#, #"has exp "4000000000"; expected a number"#),
            (#"{"sub":"bob","exp":true}"#, "has exp true; expected a number"),
            (#"{"sub":"bob","exp":{}}"#, "has exp {}; expected a number"),
            (#"{"sub":"bob","exp":1e999}"#, "has exp 1e999; expected a number"),
            (#"{"exp":4000000000}"#, "has no sub; expected the user's handle"),
            (#"{"exp":4000000000,"sub":null}"#, "has no sub"),
            (#"{"exp":4000000000,"sub":7}"#, "has sub 7; expected the user's handle"),
            (#"{"exp":4000000000,"sub":["bob"]}"#, #"has sub ["bob"]; expected"#),
            (#"{"exp":4000000000,"sub":""}"#, #"has sub ""; expected a handle"#),
            (#"{"exp":4000000000,"sub":"b ob"}"#, #"has sub "b ob"; expected a handle"#),
            (#"{"exp":4000000000,"sub":"b\u0085b"}"#, #"has sub "bb"; expected a handle"#),
            (#"{"exp":4000000000,"sub":"b\u202eb"}"#, #"has sub "bb"; expected a handle"#),
            (#"{"exp":4000000000,"sub":"bob","nbf":"1"}"#, #"has nbf "1"; expected a number"#),
            (#"{"exp":4000000000,"sub":"bob","iat":"now"}"#, #"has iat "now"; expected a number"#),
            (#"{"exp":4000000000,"sub":"bob","iat":[]}"#, "has iat []; expected a number"),
            (#"{"exp":4000000000,"sub":"bob","name":7}"#, "has name 7; expected a string"),
            (#"{"exp":4000000000,"sub":"bob","name":["B"]}"#, #"has name ["B"]; expected a string"#),
            (#"{"exp":4000000000,"sub":"bob","device_id":7}"#, "has device_id 7; expected a UUID"),
            (#"{"exp":4000000000,"sub":"bob","device_id":"7"}"#, #"has device_id "7"; expected a UUID"#),
        ])
    func claims(claims: String, words: String) {
        let refusal = refusal(claims)
        #expect(refusal?.message.contains(words) == true, "\(refusal?.message ?? "taken")")
    }

    @Test("is quoted in a refusal in bounded length, however long its claims are")
    func bounded() {
        let long = String(repeating: "x", count: 5000)
        let refusal = refusal(#"{"exp":"\#(long)","sub":"bob"}"#)
        #expect((refusal?.message.utf8.count ?? .max) < 250)
    }

    @Test("has a name without characters that break a line or change the text direction")
    func names() throws {
        for (name, shown) in [
            ("Bob", "Bob"), (#"B\u0000o\u0085b\u2028\u2029"#, "Bob"), (#"\u202egpj.bob\u202c"#, "gpj.bob"),
            (#"\u0007"#, nil), ("  ", nil), (#"\u200b\u00a0\u3164"#, nil),
            (#"\u05d1\u200f\u2067\u2069"#, "\u{5D1}\u{200F}\u{2067}\u{2069}"), ("👩‍👧", "👩‍👧"),
        ] {
            let claims = #"{"sub":"bob","exp":4000000000,"name":"\#(name)"}"#
            #expect(try read(tokens.sign(claims: claims.utf8)).get().name == shown)
        }
    }
}
