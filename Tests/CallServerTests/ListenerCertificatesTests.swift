import CallVocabulary
import EventJournal
import EventLoop
import TestCleanup
import Testing

@testable import CallServer

@Suite("Expiring certificates", .cleanup)
struct ListenerCertificatesTests {
    @Test("are reported from two weeks before their expiration")
    func words() {
        let end = Instant(milliseconds: 1_800_000_000_000)
        let before = Duration.seconds(14 * 24 * 3600)
        #expect(ListenerCertificates.warning(end, now: end + (.zero - before)) == nil)
        #expect(
            ListenerCertificates.warning(end, now: end + (.milliseconds(1) - before))
                == "the certificate expires on 2027-01-15: renew it and reload")
        #expect(
            ListenerCertificates.warning(end, now: end)
                == "the certificate has expired on 2027-01-15: clients cannot connect; renew it and reload")
    }

    @Test("are reported once, however many listeners share one")
    func shared() {
        let (first, other) = (Instant(milliseconds: 1_800_000_000_000), Instant(milliseconds: 1_900_000_000_000))
        let ends = ListenerCertificates.distinct([("signal", first), ("admin", other), ("metrics", first)])
        #expect(ends.map(\.listener) == ["signal", "admin"] && ends.map(\.at) == [first, other])
    }

    @Test("are checked periodically until the watch is stopped")
    func watch() async throws {
        let loop = try EventLoop.started("watch")
        let looked = Journal<Int>()
        let watch = LoopBound(CertificateWatch(loop: loop, log: .none), on: loop)
        _ = await loop.run {
            watch.value.begin(every: .milliseconds(1)) {
                looked.append(1)
                return []
            }
        }
        try await looked.wait(for: "three looks") { $0.count >= 3 }
        _ = await loop.run { watch.value.stop() }
    }
}
