import CallCore
import CallServer
import CallVocabulary
import Foundation
import LibWebSockets
import LogCapture
import Logging
import PushClient
import PushCore
import ServerSettings
import Synchronization
import TLS
import Testing

@Suite("Settings that are read again")
struct ReloaderTests {
    /// A server that keeps what it was given.
    private final class Server: Sendable {
        struct Refusal: Error, CustomStringConvertible {
            let description = "not now"
        }

        let reloads = Mutex<[ServerReload]>([])
        let levels = Mutex<[Logger.Level]>([])
        let refuses = Mutex(false)

        func apply(_ reload: ServerReload) throws {
            if refuses.withLock({ $0 }) { throw Refusal() }
            reloads.withLock { $0.append(reload) }
        }

        var last: ServerReload? { reloads.withLock { $0.last } }
        var count: Int { reloads.withLock { $0.count } }
    }

    private let scene: Scene
    private let server = Server()
    private let log = LogLines()

    init() throws {
        scene = try Scene()
        try scene.write("calls.ring_seconds: 50\n")
    }

    /// What was logged since the last time, but for the line that each reload ends with.
    private func takeLines(_ result: String? = nil) -> [String] {
        var lines = log.take()
        let last = lines.popLast()
        #expect(last?.hasPrefix("notice admin reload method=reload result=\(result ?? "")") == true, "\(last ?? "")")
        return lines
    }

    private func reloader() throws -> SettingsReloader {
        let server = server
        return SettingsReloader(
            scene.loader, current: try scene.load(), log: log.logger(.trace),
            setLogLevel: { level in server.levels.withLock { $0.append(level) } },
            apply: { reload, _ in try server.apply(reload) })
    }

    @Test("a changed setting is given to the server with its part alone, and named")
    func change() async throws {
        let reloader = try reloader()
        try scene.write("calls.ring_seconds: 60\n")
        await reloader.reload()
        let reload = try #require(server.last)
        #expect(reload.timers?.ring == .seconds(60))
        #expect(reload.limits == nil && reload.policy == nil && reload.connectionLimits == nil)
        #expect(reload.maxConnections == nil && reload.tls == nil && reload.push == nil)
        #expect(takeLines() == ["notice a setting changed from=50 setting=calls.ring_seconds to=60"])
        await reloader.reload()
        #expect(server.count == 1)
        #expect(takeLines() == ["info the configuration was read again; no setting changed"])
    }

    @Test("each part is given when one of its settings has changed")
    func parts() async throws {
        let reloader = try reloader()
        try scene.write(
            """
            calls.ring_seconds: 50
            calls.decline: device
            limits.connections: 10
            limits.messages_per_second: 7
            limits.live_calls: 3
            push.text.missed_call: Too late
            """)
        await reloader.reload()
        let reload = try #require(server.last)
        #expect(reload.timers == nil && reload.tls == nil)
        #expect(reload.policy?.decline == .device)
        #expect(reload.maxConnections == 10)
        #expect(reload.connectionLimits?.messagesPerSecond == 7 && reload.connectionLimits?.burst == 28)
        #expect(reload.limits?.liveCalls == 3)
        #expect(reload.push?.texts.missedCall == "Too late")
        // The burst follows the messages a second.
        #expect(takeLines().count == 6)
    }

    @Test("a secret that the server has made is no change, and one that somebody writes is")
    func secret() async throws {
        let reloader = try reloader()
        let secret = String(repeating: "ab", count: 32)
        try scene.write(secret, to: "data/client-token.key")
        await reloader.reload()
        // Given to the server, which compares it with its own.
        #expect(server.count == 1 && server.last?.tokens != nil)
        #expect(takeLines("unchanged") == ["info the configuration was read again; no setting changed"])
        await reloader.reload()
        #expect(server.count == 1)
        _ = takeLines("unchanged")
        try scene.write(secret.uppercased() + "\n" + secret, to: "data/client-token.key")
        await reloader.reload()
        #expect(server.count == 2 && server.last?.tokens != nil)
        #expect(
            takeLines("done") == [
                "notice a setting changed file=\(scene.folder)/data/client-token.key setting=tokens.secret_file"
            ])
    }

    @Test("an identity provider's keys are fetched at each reload, also when no setting has changed")
    func servedKeys() async throws {
        try scene.write(
            """
            tokens.jwks_url: https://id.example.com/jwks.json
            tokens.issuer: https://id.example.com/
            tokens.audience: reveille
            """)
        let reloader = try reloader()
        await reloader.reload()
        #expect(server.count == 1 && server.last?.tokens == nil)
        try scene.write("# none\n")
        await reloader.reload()
        #expect(server.count == 2)
        await reloader.reload()
        #expect(server.count == 2)
    }

    @Test("tokens of backends are taken when their file is made, and none when it is deleted or has a fault")
    func backends() async throws {
        let reloader = try reloader()
        let line = BackendToken.make(name: "pbx", role: .calls, scope: BackendScope()).line
        try scene.write(line, to: "data/backend-tokens", permissions: 0o600)
        await reloader.reload()
        #expect(server.last?.backendTokens?.map(\.name) == ["pbx"])
        #expect(
            takeLines("done") == [
                "notice a setting changed file=\(scene.folder)/data/backend-tokens setting=backend.tokens_file"
            ])
        try scene.write(line + "\npbx calls *", to: "data/backend-tokens", permissions: 0o600)
        #expect(await reloader.reload() == false)
        #expect(server.count == 1)
        #expect(
            takeLines("refused").first?.contains(
                "data/backend-tokens, line 2: expected NAME ROLE USERS SHA256; a line is NAME ROLE USERS SHA256")
                == true)
        try FileManager.default.removeItem(atPath: scene.folder + "/data/backend-tokens")
        await reloader.reload()
        #expect(server.count == 2 && server.last?.backendTokens == [])
    }

    @Test("a setting that is taken out is the default again")
    func removal() async throws {
        let reloader = try reloader()
        try scene.write("# none\n")
        await reloader.reload()
        #expect(server.last?.timers == CallTimers())
        #expect(takeLines() == ["notice a setting changed from=50 setting=calls.ring_seconds to=45"])
    }

    @Test("the log level changes by itself, without the server")
    func logLevel() async throws {
        let reloader = try reloader()
        try scene.write("calls.ring_seconds: 50\nlog.level: debug\n")
        await reloader.reload()
        #expect(server.levels.withLock { $0 } == [.debug, .debug])
        #expect(server.count == 0)
        #expect(takeLines() == ["notice a setting changed from=info setting=log.level to=debug"])
        // Said before it says less.
        try scene.write("calls.ring_seconds: 50\nlog.level: error\n")
        await reloader.reload()
        #expect(server.levels.withLock { $0 } == [.debug, .debug, .debug, .error])
    }

    @Test(
        "a file with anything wrong in it, or none at all, changes nothing, and every fault is logged",
        arguments: [
            (
                "calls.ring_seconds: 60\nlog.level: loud\nnod: a\n",
                [
                    "error DIR/reveille.yaml:2: log.level: 'loud' is not known; "
                        + "give one of trace, debug, info, notice, warning, error, critical",
                    "error DIR/reveille.yaml:3: nod: there is no such setting; did you mean node?",
                    "error the configuration was not applied; the server keeps its current settings",
                ]
            ),
            (
                nil,
                [
                    "error DIR/reveille.yaml: cannot be read; check path and permissions, or name another with "
                        + "--config; the server keeps its current settings"
                ]
            ),
        ])
    func invalid(text: String?, lines: [String]) async throws {
        let reloader = try reloader()
        if let text { try scene.write(text) } else { try scene.remove("reveille.yaml") }
        await reloader.reload()
        #expect(server.count == 0)
        #expect(server.levels.withLock { $0 } == [])
        #expect(takeLines().map { $0.replacing(scene.folder, with: "DIR") } == lines)
        // What was before is still what a change is measured by.
        try scene.write("calls.ring_seconds: 60\n")
        await reloader.reload()
        #expect(takeLines() == ["notice a setting changed from=50 setting=calls.ring_seconds to=60"])
    }

    @Test("a file that is emptied, as by a full disk, changes nothing; one with only a comment has no settings")
    func emptied() async throws {
        let secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
        let endpoint = "- name: a\n  url: https://a.example/\n  secrets: [\(secret)]\n"
        try scene.write(endpoint, to: "webhooks.yaml")
        let settings = "calls.ring_seconds: 50\nwebhooks.file: webhooks.yaml\n"
        try scene.write(settings)
        let reloader = try reloader()
        for blank in ["", " \n\n"] {
            for (file, text) in [("reveille.yaml", settings), ("webhooks.yaml", endpoint)] {
                try scene.write(blank, to: file)
                #expect(await reloader.reload() == false)
                #expect(server.count == 0)
                #expect(
                    takeLines("refused") == [
                        "error \(scene.folder)/\(file) is empty; the server keeps its current settings "
                            + "(for none, put a comment into the file)"
                    ])
                try scene.write(text, to: file)
                #expect(await reloader.reload())
                _ = takeLines("unchanged")
            }
        }
        try scene.write("# none\n", to: "webhooks.yaml")
        #expect(await reloader.reload())
        #expect(server.last?.webhooks?.isEmpty == true)
        try scene.write("# none\n")
        #expect(await reloader.reload())
        #expect(server.last?.timers == CallTimers())
    }

    @Test("what needs a restart is warned of, each time, and the rest is taken over")
    func restart() async throws {
        let reloader = try reloader()
        try scene.write("calls.ring_seconds: 60\nlisten.port: 1\ntoken: other\n")
        await reloader.reload()
        #expect(server.last?.timers?.ring == .seconds(60))
        let warning = "warning a changed setting needs a restart from=7350 setting=listen.port to=1"
        #expect(
            takeLines() == ["notice a setting changed from=50 setting=calls.ring_seconds to=60", warning])
        await reloader.reload()
        #expect(takeLines() == [warning])
        #expect(server.count == 1)
    }

    @Test("a server that refuses keeps what it had, and is asked again the next time")
    func refusal() async throws {
        let reloader = try reloader()
        try scene.write("calls.ring_seconds: 60\nlog.level: debug\n")
        server.refuses.withLock { $0 = true }
        #expect(await reloader.reload() == false)
        #expect(
            takeLines()
                == ["error the server refused the configuration and keeps its current settings: not now"])
        #expect(server.levels.withLock { $0 } == [])
        server.refuses.withLock { $0 = false }
        #expect(await reloader.reload())
        #expect(server.last?.timers?.ring == .seconds(60))
        #expect(server.levels.withLock { $0.last } == .debug)
    }

    @Test("a certificate that was renewed in its place is given to the server")
    func renewed() async throws {
        let tls = "tls.certificate: server.pem\ntls.key: server.key\n"
        let first = try TestCertificate(days: 90)
        try scene.write(first.certificatePEM, to: "server.pem")
        try scene.write(first.keyPEM, to: "server.key")
        try scene.write(tls)
        let reloader = try reloader()
        await reloader.reload()
        #expect(takeLines() == ["info the configuration was read again; no setting changed"])
        let second = try TestCertificate(days: 180)
        try scene.write(second.certificatePEM, to: "server.pem")
        await reloader.reload()
        #expect(server.count == 0)
        #expect(takeLines().first?.contains("is not the key of") == true)
        try scene.write(second.keyPEM, to: "server.key")
        await reloader.reload()
        #expect(server.last?.tls?.certificateFile == scene.folder + "/server.pem")
        #expect(server.last?.timers == nil)
        #expect(
            takeLines().map { $0.replacing(scene.folder, with: "DIR") } == [
                "notice a setting changed file=DIR/server.pem setting=tls.certificate",
                "notice a setting changed file=DIR/server.key setting=tls.key",
            ])
    }

    @Test("a server that began without TLS cannot be asked for it")
    func firstCertificate() async throws {
        let reloader = try reloader()
        let pair = try TestCertificate(days: 90)
        try scene.write(pair.certificatePEM, to: "server.pem")
        try scene.write(pair.keyPEM, to: "server.key")
        try scene.write("calls.ring_seconds: 50\ntls.certificate: server.pem\ntls.key: server.key\n")
        await reloader.reload()
        #expect(server.count == 0)
        #expect(
            takeLines().map { $0.prefix(41) }
                == Array(repeating: "warning a changed setting needs a restart", count: 2))
    }
}
