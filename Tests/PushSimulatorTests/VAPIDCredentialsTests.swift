import CallVocabulary
import ClientTokens
import Crypto
import Foundation
import Testing

@testable import PushSimulator

@Suite("The credentials of a Web Push sender")
struct VAPIDCredentialsTests {
    /// RFC 8292, section 2.4, in one line.
    private static let example =
        "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3Nj"
        + "gsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNj"
        + "jvW2L9OkSSHzvoD1oA, "
        + "k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
    private static let origin = "https://push.example.net"
    private static let now = Instant(milliseconds: 1_453_500_000_000)

    private func refusal(_ authorization: String, now: Instant = now) -> WebPushRefusal? {
        do throws(WebPushError) {
            try VAPIDCredentials(authorization: authorization).claims().check(origin: Self.origin, now: now)
            return nil
        } catch {
            return error.refusal
        }
    }

    @Test("RFC 8292, section 2.4")
    func vector() throws {
        let credentials = try VAPIDCredentials(authorization: Self.example)
        #expect(
            try credentials.claims()
                == VAPIDCredentials.Claims(
                    audience: Self.origin, expiration: 1_453_523_768, subject: "mailto:push@example.com"))
        #expect(refusal(Self.example) == nil)
        // It is over at its expiration, and too new more than 24 hours before.
        #expect(refusal(Self.example, now: Instant(milliseconds: 1_453_523_768_000)) == .badExpiration)
        #expect(refusal(Self.example, now: Instant(milliseconds: 1_453_523_767_000)) == nil)
        #expect(refusal(Self.example, now: Instant(milliseconds: 1_453_437_367_000)) == .badExpiration)
        #expect(refusal(Self.example, now: Instant(milliseconds: 1_453_437_368_000)) == nil)
    }

    @Test("the order, the case and the spaces of the parameters are free")
    func forms() {
        let parts = Self.example.dropFirst("vapid ".count).components(separatedBy: ", ")
        #expect(refusal("Vapid \(parts[1]),\(parts[0])") == nil)
        #expect(refusal("VAPID  \(parts[0]) ,  \(parts[1])") == nil)
        #expect(refusal("vapid T=\(parts[0].dropFirst(2)),k=\"\(parts[1].dropFirst(2))\"") == nil)
    }

    @Test("what is no credentials is refused")
    func refused() {
        let parts = Self.example.dropFirst("vapid ".count).components(separatedBy: ", ")
        let (token, key) = (parts[0], parts[1])
        for text in [
            "", "vapid", "vapid ", "vapid x", "vapid \(token)", "vapid \(key)", "WebPush \(token.dropFirst(2))",
            "Bearer \(token.dropFirst(2))", "vapid \(token), \(key), \(key)", "vapid \(token), \(key)=",
            "vapid \(token), k=BA1H", "vapid \(token), \(key.dropLast())A",
        ] {
            #expect(refusal(text) == .badAuthorization, "\(text)")
        }
        for text in [
            "t=x", "t=a.b.c", token.replacing(".i3CY", with: ".i3CZ"), token + "A",
            token.replacing("eyJ0eX", with: "eyJ1eX"),
        ] {
            #expect(refusal("vapid \(text), \(key)") == .badToken, "\(text)")
        }
    }

    private func signed(
        _ claims: String, header: String = #"{"typ":"JWT","alg":"ES256"}"#, with key: P256.Signing.PrivateKey = .init()
    ) throws -> String {
        let signed = Base64URL.encode(header.utf8) + "." + Base64URL.encode(claims.utf8)
        let signature = try key.signature(for: Array(signed.utf8))
        let text = Base64URL.encode(signature.rawRepresentation)
        return "vapid t=\(signed).\(text), k=\(Base64URL.encode(key.publicKey.x963Representation))"
    }

    @Test("each claim is checked")
    func claims() throws {
        let good = #"{"aud":"https://push.example.net","exp":1453523768,"sub":"mailto:push@example.com"}"#
        #expect(refusal(try signed(good)) == nil)
        #expect(refusal(try signed(good, header: #"{"alg":"none"}"#)) == .badToken)
        #expect(refusal(try signed(good, header: #"{"alg":"RS256"}"#)) == .badToken)
        for (old, new, expected) in [
            (Self.origin, Self.origin + "/", WebPushRefusal.badAudience),
            (Self.origin, Self.origin + ":443", .badAudience), (#""https://push.example.net""#, "7", .badAudience),
            ("1453523768", #""1453523768""#, .badExpiration), ("exp", "iat", .badExpiration),
            ("1453523768", "1453499999", .badExpiration), ("1453523768", "1453586401", .badExpiration),
            ("sub", "iss", .badSubject), ("mailto:push@example.com", "push@example.com", .badSubject),
            ("mailto:push@example.com", "mailto:", .badSubject), ("mailto:", "mailto: ", .badSubject),
            ("push@example.com", "push@localhost", .badSubject),
            ("mailto:push@example.com", "https://localhost/", .badSubject),
            ("mailto:push@example.com", "http://example.com/", .badSubject),
        ] {
            let claims = good.replacing(old, with: new)
            #expect(claims != good)
            #expect(refusal(try signed(claims)) == expected, "\(claims)")
        }
        #expect(
            refusal(try signed(good.replacing("mailto:push@example.com", with: "https://example.com/contact"))) == nil)
        #expect(refusal(try signed(good.replacing("1453523768", with: "1453586400"))) == nil)
    }
}
