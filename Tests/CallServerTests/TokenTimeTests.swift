import CallCore
import CallVocabulary
import ClientTokens
import TestCleanup
import Testing

@testable import CallServer

@Suite("The times of a user's token", .cleanup) struct TokenTimeTests {
    @Test("are checked against wall-clock time, and a refusal names both times", .timeLimit(.minutes(5)))
    func times() async throws {
        let folder = try DataFolder.temporary()
        let clocks = FakeClocks(wall: 1_800_000_000_000)
        let authority = try await TokenAuthority(folder: folder, clock: ServerClock(clocks.sources))
        let tokens = TokenSecret(try folder.secret("client-token.key"))
        func refusal(_ claims: String) -> TokenRefusal? {
            do throws(TokenRefusal) {
                _ = try authority.verify(tokens.sign(claims: claims.utf8))
                return nil
            } catch {
                return error
            }
        }
        let now = Instant(milliseconds: 1_800_000_000_000)
        #expect(refusal(#"{"sub":"bob","exp":1800000001}"#) == nil)
        #expect(refusal(#"{"sub":"bob","exp":1800000000}"#) == .expired(now, now: now))
        let past = refusal(#"{"sub":"bob","exp":-5}"#)
        #expect(past == .expired(Instant(milliseconds: -5000), now: now))
        #expect(
            past?.message
                == "The token has expired: exp is -5, the server's time is 1800000000 (2027-01-15T08:00:00Z). "
                + "Get a new one from your backend and open again.")
        #expect(refusal(#"{"sub":"bob","exp":1900000000,"nbf":1800000060}"#) == nil)
        let early = refusal(#"{"sub":"bob","exp":1900000000,"nbf":1800000061}"#)
        #expect(early == .early("nbf", Instant(milliseconds: 1_800_000_061_000), now: now))
        #expect(early?.message.contains("nbf is 1800000061 (2027-01-15T08:01:01Z)") == true)
        // The issuer's clock may be ahead.
        #expect(refusal(#"{"sub":"bob","exp":1900000000,"iat":1800000900}"#) == nil)

        // A clock step takes effect at once, even on tokens that the server minted.
        let minted = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(60))
        clocks.set(by: .seconds(7200))
        #expect(throws: TokenRefusal.self) { try authority.verify(minted) }
        #expect(refusal(#"{"sub":"bob","exp":1900000000,"nbf":1800007000}"#) == nil)
        let later = try await authority.mint(user: #require(Handle("bob")), lifetime: .seconds(60))
        _ = try authority.verify(later)
        clocks.set(by: .seconds(-7200))
        _ = try authority.verify(minted)
        _ = try authority.verify(later)
    }
}
