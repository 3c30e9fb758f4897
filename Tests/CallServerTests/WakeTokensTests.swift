import CallCore
import CallVocabulary
import PushCore
import TestCleanup
import Testing

@testable import CallServer

@Suite("A wake token", .cleanup) struct WakeTokensTests {
    private let tokens = WakeTokens(secret: Array(0..<32))
    private static let claims = WakeTokens.Claims(
        call: CallID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff")!,
        device: DeviceID("00000000-0000-4000-8000-0000000000b0")!,
        user: Handle("bøb@example.com")!, expiresAt: Instant(milliseconds: 1_000_000_000_123))

    @Test("contains its data, in characters that need no escape anywhere")
    func roundTrip() throws {
        let token = tokens.mint(Self.claims)
        #expect(tokens.read(token) == Self.claims)
        #expect(token.hasPrefix("wake1."))
        #expect(token.dropFirst(6).allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
    }

    @Test("exists for handles of each length, and a payload has space for the longest")
    func lengths() throws {
        for length in 1...128 {
            let claims = WakeTokens.Claims(
                call: .init(high: .max, low: 0), device: .init(high: 0, low: .max),
                user: try #require(Handle(String(repeating: "x", count: length))), expiresAt: Instant(milliseconds: -1))
            #expect(tokens.read(tokens.mint(claims)) == claims)
            #expect(tokens.mint(claims).utf8.count <= PayloadProfile.longestWakeToken)
            if length == 128 { #expect(tokens.mint(claims).utf8.count == WakeTokens.longest) }
        }
    }

    @Test("is refused when a character is changed, when truncated, or when signed with another key")
    func forged() {
        let token = Array(tokens.mint(Self.claims).utf8)
        for index in token.indices {
            var forged = token
            forged[index] = forged[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            #expect(tokens.read(String(decoding: forged, as: UTF8.self)) == nil, "character \(index)")
        }
        for count in token.indices {
            #expect(tokens.read(String(decoding: token.prefix(count), as: UTF8.self)) == nil)
        }
        #expect(WakeTokens(secret: Array(1..<33)).read(String(decoding: token, as: UTF8.self)) == nil)
    }

    @Test(
        "accepts no other text",
        arguments: ["", "wake1.", "wake1.====", "wake1.%%%", "wake1.AAAA", "eyJhbGciOiJIUzI1NiJ9.e30.c2ln"])
    func others(_ text: String) { #expect(tokens.read(text) == nil) }

    @Test("is distinguished from a user's token, and refused at once when expired or forged", .timeLimit(.minutes(5)))
    func authority() async throws {
        let folder = try DataFolder.temporary()
        let authority = try await TokenAuthority(folder: folder)
        let user = try await authority.mint(user: Self.claims.user, lifetime: .seconds(60))
        #expect(authority.verifyWakeToken(user) == nil)
        #expect(try authority.verify(user).grant.scope == .full)
        let own = WakeTokens(secret: try folder.secret("wake-token.key"))
        let order = WakeTokens.Claims(
            call: Self.claims.call, device: Self.claims.device, user: Self.claims.user,
            expiresAt: Instant(milliseconds: 4_000_000_000_000))
        let good = try #require(authority.verifyWakeToken(own.mint(order))).get()
        #expect(good.grant == SessionGrant(user: order.user, scope: .call(order.call)) && good.device == order.device)
        let old = try #require(authority.verifyWakeToken(own.mint(Self.claims)))
        #expect(throws: TokenAuthority.Refusal.self) { try old.get() }
        let foreign = try #require(authority.verifyWakeToken(tokens.mint(Self.claims)))
        #expect(throws: TokenAuthority.Refusal.self) { try foreign.get() }
        #expect(throws: TokenAuthority.Refusal.self) { try authority.verify(tokens.mint(Self.claims)) }
    }
}
