import CallVocabulary
import Testing

@testable import CallServer

@Suite("Expiring certificates")
struct ListenerCertificatesTests {
    @Test("are reported once, however many listeners share one")
    func shared() {
        let (first, other) = (Instant(milliseconds: 1_800_000_000_000), Instant(milliseconds: 1_900_000_000_000))
        let ends = ListenerCertificates.distinct([("signal", first), ("admin", other), ("metrics", first)])
        #expect(ends.map(\.listener) == ["signal", "admin"] && ends.map(\.at) == [first, other])
    }
}
