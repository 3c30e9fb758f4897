import CallVocabulary
import Determinism
import Testing

@testable import PushSimulator

@Suite("What Google's OAuth endpoint says")
struct ServiceAccountGrantTests {
    static let now = Instant(milliseconds: 1_700_000_000_000)
    static let audience = "https://127.0.0.1:2199/token"

    static func assertion(_ change: (inout ServiceAccountGrant.Assertion) -> Void = { _ in })
        -> ServiceAccountGrant.Assertion
    {
        var assertion = ServiceAccountGrant.Assertion(
            issuer: "me@project", audience: audience, scope: "https://www.googleapis.com/auth/firebase.messaging",
            issuedAt: now, expiresAt: now + .seconds(3600), isSigned: true)
        change(&assertion)
        return assertion
    }

    static func check(_ assertion: ServiceAccountGrant.Assertion?) -> String? {
        do throws(ServiceAccountGrant.Refusal) {
            try ServiceAccountGrant.check(assertion, account: "me@project", audience: audience, now: now)
            return nil
        } catch {
            return "\(error.error): \(error.description)"
        }
    }

    @Test("an assertion in order is taken, also among several scopes")
    func taken() {
        #expect(Self.check(Self.assertion()) == nil)
        #expect(Self.check(Self.assertion { $0.scope = "openid " + $0.scope }) == nil)
        #expect(Self.check(Self.assertion { $0.scope = "https://www.googleapis.com/auth/cloud-platform" }) == nil)
    }

    @Test("each fault has Google's words")
    func refused() {
        let cases: [(String, ServiceAccountGrant.Assertion?, String)] = [
            ("unreadable", nil, "invalid_grant: Invalid JWT"),
            ("another account", Self.assertion { $0.issuer = "you@project" }, "account not found"),
            ("another key", Self.assertion { $0.isSigned = false }, "Invalid JWT Signature"),
            ("another audience", Self.assertion { $0.audience = "https://oauth2.googleapis.com/token" }, "audience"),
            ("longer than an hour", Self.assertion { $0.expiresAt = Self.now + .seconds(3601) }, "short-lived"),
            (
                "over",
                Self.assertion {
                    $0.issuedAt = Self.now + .seconds(-4000)
                    $0.expiresAt = Self.now + .seconds(-400)
                }, "short-lived"
            ),
            (
                "from the future",
                Self.assertion {
                    $0.issuedAt = Self.now + .seconds(400)
                    $0.expiresAt = Self.now + .seconds(500)
                }, "short-lived"
            ),
            ("another scope", Self.assertion { $0.scope = "openid" }, "invalid_scope"),
        ]
        for (name, assertion, words) in cases {
            #expect(Self.check(assertion)?.contains(words) == true, "\(name)")
        }
    }

    @Test("the body is a form with the grant's type and the assertion")
    func form() throws {
        let type = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
        #expect(try ServiceAccountGrant.assertion(body: Array("\(type)&assertion=a.b%2Dc+d".utf8)) == "a.b-c d")
        for (body, error) in [
            ("grant_type=password&assertion=a", "unsupported_grant_type"), ("", "unsupported_grant_type"),
            (type, "invalid_request"), ("\(type)&assertion=", "invalid_request"),
        ] {
            #expect(Self.formError(body) == error)
        }
    }

    private static func formError(_ body: String) -> String? {
        do throws(ServiceAccountGrant.Refusal) {
            _ = try ServiceAccountGrant.assertion(body: Array(body.utf8))
            return nil
        } catch {
            return error.error
        }
    }

    @Test("an access token counts until it expires or is revoked, and no other one does")
    func accessTokens() {
        var tokens = AccessTokens()
        var random = SeededGenerator(seed: 1)
        let token = tokens.issue(until: Self.now + .seconds(10), random: &random)
        func refusal(_ authorization: String?, at time: Duration) -> String? {
            tokens.refusal(of: authorization, now: Self.now + time).map {
                #expect($0.status == 401)
                return String(decoding: PhoneLinkMessages.encode($0), as: UTF8.self)
            }
        }
        #expect(refusal("Bearer \(token)", at: .seconds(9)) == nil)
        #expect(refusal("Bearer \(token)", at: .seconds(10))?.contains("ACCESS_TOKEN_EXPIRED") == true)
        #expect(refusal("Bearer x", at: .zero)?.contains("ACCESS_TOKEN_TYPE_UNSUPPORTED") == true)
        #expect(refusal(token, at: .zero) != nil)
        #expect(refusal(nil, at: .zero)?.contains("\"status\":\"UNAUTHENTICATED\"") == true)
        tokens.revokeAll()
        #expect(refusal("Bearer \(token)", at: .zero) != nil)
    }
}
