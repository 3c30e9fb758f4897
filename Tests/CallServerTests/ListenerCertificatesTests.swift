import AdminProtocol
import CallMonitor
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
        let all = [("signal", first), ("admin", other), ("metrics", first), ("admin.client_ca", first)].map {
            ServerFacts.Certificate(listener: $0, ends: $1)
        }
        #expect(ListenerCertificates.distinct(all) == [all[0], all[1], all[3]])
    }

    @Test("are those of the whole file, and of the authorities of administrators")
    func wholeFile() async throws {
        let identity = try await TestIdentity()
        let files = try await identity.chain(middleDays: 1)
        let address = try #require(SocketAddress(host: "127.0.0.1", port: 0))
        var configuration = ServerConfiguration(address: address, data: DataFolder(path: identity.path("data")))
        configuration.tls = files
        configuration.admin = AdminListenerConfiguration(address: address, token: "0123456789abcdef", tls: files)
        // Two days.
        configuration.admin?.clientAuthorities = identity.files.certificateFile
        func problems(inDays days: Double) -> [ServerProblem] {
            let date = Instant(milliseconds: Int64((Date().timeIntervalSince1970 + days * 86_400) * 1000))
            return StandbyFiles(of: configuration).problems(at: date, hasRefusedReload: false)
        }
        let ended = problems(inDays: 1.5)
        #expect(ended.map(\.code) == [.certificateExpired, .certificateEnds])
        #expect(ended.map(\.subject) == ["signal", "admin.client_ca"] && ended.first?.isUnready == true)
        #expect(ended.first?.words.contains("certificate 2 of the file (/CN=middle) has expired") == true)
        let later = problems(inDays: 3)
        #expect(later.map(\.code) == [.certificateExpired, .certificateExpired])
        #expect(later.last?.words.hasPrefix("admin.client_ca: the certificate has expired on") == true)
        configuration.admin?.clientAuthorities = identity.files.keyFile
        #expect(problems(inDays: 0).map(\.code) == [.reloadRefused, .certificateEnds])
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
        #expect(unusable.map(\.code) == [.reloadRefused, .filesMissing])
        #expect(unusable.first?.isUnready == true)
        #expect(unusable.first?.words.contains(identity.files.keyFile) == true)
    }
}
