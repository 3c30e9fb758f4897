import CallVocabulary
import Foundation
import Glibc
import PushCore
import PushVocabulary
import TestCleanup
import Testing

/// The push client with nghttpd, which supports HTTP/2 but not APNs: a token is an existing or a missing file.
@Suite("The push client with a generic HTTP/2 server", .cleanup, .timeLimit(.minutes(5)))
struct ForeignPushServerTests {
    private final class NGHTTPD: Sendable {
        private let program: Program

        init(port: UInt16, folder: String) async throws {
            let certificate = try await OpenSSL.forThisMachine.value
            program = try Program(
                "/usr/sbin/nghttpd",
                [
                    "--verbose", "--address=127.0.0.1", "--htdocs=\(folder)", "--max-concurrent-streams=7", "\(port)",
                    certificate.keyFile, certificate.certificateFile,
                ])
            _ = try await program.output.first("nghttpd listens") { $0.contains("listen") ? true : nil }
        }

        /// The `apns-id` of each request it received, in order.
        var requests: [String] {
            program.output.entries.compactMap { line in
                line.range(of: "apns-id: ").map { String(line[$0.upperBound...]) }
            }
        }

        /// Kills it, and waits until its output is read.
        func kill() async throws {
            program.send(SIGKILL)
            _ = try await program.result()
        }
    }

    /// A folder with a file for every device token of an even number.
    private func documents() throws -> String {
        let folder = NSTemporaryDirectory() + "reveille-nghttpd-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder + "/3/device", withIntermediateDirectories: true)
        atEnd { try? FileManager.default.removeItem(atPath: folder) }
        for number in stride(from: 0, to: 40, by: 2) {
            try Data("{}".utf8).write(to: URL(fileURLWithPath: folder + "/3/device/" + Self.token(number)))
        }
        return folder
    }

    private static func token(_ number: Int) -> String { "00ff\(1000 + number)" }

    @Test("a file is 200 and accepted; a missing file is 404 and rejected once; seven concurrent streams suffice")
    func found() async throws {
        let folder = try documents()
        let port = try freePort()
        let server = try await NGHTTPD(port: port, folder: folder)
        let pusher = try await Pusher(port: port)
        let pushes = pusher.queue(40, ring: .seconds(20), token: Self.token)
        let outcomes = try await pusher.settled(pushes)
        for (number, outcome) in outcomes.enumerated() {
            let isThere = number.isMultiple(of: 2)
            #expect(outcome == (isThere ? .accepted : .rejected(reason: "HTTP 404", isTokenDead: false)))
        }
        await pusher.stop()
        try await server.kill()
        #expect(server.requests.sorted() == pushes.map(\.description).sorted())
    }

    @Test("killed and restarted in between, it gets each push at most once, and all later ones")
    func restarted() async throws {
        let folder = try documents()
        let port = try freePort()
        let first = try await NGHTTPD(port: port, folder: folder)
        let pusher = try await Pusher(port: port)
        let before = pusher.queue(500, ring: .seconds(20)) { _ in Self.token(0) }
        _ = try await eventually("some pushes are accepted") {
            pusher.histories.values.count { $0.final == [.accepted] } >= 20 ? true : nil
        }
        try await first.kill()
        let second = try await NGHTTPD(port: port, folder: folder)
        let after = pusher.queue(50, ring: .seconds(20)) { _ in Self.token(0) }
        let kinds = Set(try await pusher.settled(before).map(\.kind))
        #expect(kinds.subtracting([.accepted, .unknown]) == [])
        #expect(try await pusher.settled(after).allSatisfy { $0 == .accepted })
        await pusher.stop()
        try await second.kill()
        let requests = first.requests + second.requests
        #expect(Set(requests).count == requests.count, "a push was sent twice")
        let accepted = pusher.histories.filter { $0.value.final == [.accepted] }.map(\.key.description)
        #expect(Set(accepted).subtracting(requests) == [])
        #expect(pusher.histories.values.allSatisfy { $0.final.count == 1 && $0.lateWords == 0 })
    }
}
