import AdminProtocol
import CallVocabulary
import EventLoop
import Foundation
import TLS
import TestCertificates
import TestCleanup
import Testing

@testable import CallServer

@Suite("Expiring certificates", .cleanup)
struct ListenerCertificatesTests {
    @Test("are reported once, however many listeners share one")
    func shared() {
        let (first, other) = (Instant(milliseconds: 1_800_000_000_000), Instant(milliseconds: 1_900_000_000_000))
        let ends = ListenerCertificates.distinct([("signal", first), ("admin", other), ("metrics", first)])
        #expect(ends.map(\.listener) == ["signal", "admin"] && ends.map(\.at) == [first, other])
    }

    @Test("are problems of a standby too, as are files that a take-over could not use")
    func ofStandby() async throws {
        let identity = try await TestIdentity()
        let secret = identity.path("turn-secret")
        let address = try #require(SocketAddress(host: "127.0.0.1", port: 0))
        var configuration = ServerConfiguration(address: address, data: DataFolder(path: identity.path("data")))
        configuration.tls = identity.files
        configuration.turn = TurnConfiguration(urls: ["turn:a"], secret: "north", secretFile: secret)
        try "north\n".write(toFile: secret, atomically: true, encoding: .utf8)

        func problems(inDays days: Double, refused: Bool = false) -> [ServerProblem] {
            let date = Instant(milliseconds: Int64((Date().timeIntervalSince1970 + days * 86_400) * 1000))
            return StandbyFiles(of: configuration).problems(at: date, hasRefusedReload: refused)
        }

        #expect(problems(inDays: -20) == [])
        #expect(problems(inDays: 0, refused: true).map(\.code) == [.listenerCertificateExpiring, .reloadRefused])
        #expect(problems(inDays: 1.5).map(\.code) == [.certificateEnds])
        let expired = problems(inDays: 3)
        #expect(expired.map(\.code) == [.certificateExpired] && expired.allSatisfy(\.isUnready))
        try FileManager.default.removeItem(atPath: secret)
        try "no key\n".write(toFile: identity.files.keyFile, atomically: true, encoding: .utf8)
        let unusable = problems(inDays: 0)
        #expect(unusable.map(\.code) == [.reloadRefused, .turnSecretMissing])
        #expect(unusable.first?.isUnready == true)
        #expect(unusable.first?.words.contains(identity.files.keyFile) == true)
    }
}
