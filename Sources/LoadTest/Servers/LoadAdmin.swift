import AdminKit
import AdminProtocol
import CallServer
import CallVocabulary
import EventLoop
import LibWebSockets

/// What a load sets at the server, and asks of it, by its admin API. Any thread.
struct LoadAdmin: Sendable {
    private enum Address {
        case socket(SocketAddress)
        case url(WebSocketURL, token: String, LWSContext.Trust)
    }

    /// An audit of a store of millions takes its time.
    private static let auditPatience = Duration.seconds(120)

    private let address: Address

    /// - Parameter caFile: the certificates that a server at a URL may show, and no others; nil: those that the system
    ///   trusts.
    /// - Throws: ``LoadError``.
    init(_ admin: LoadTarget.Admin, caFile: String?) throws {
        do {
            switch admin {
            case .folder(let path): address = .socket(try DataFolder(path: path).adminSocket())
            case .socket(let path): address = .socket(try SocketAddress(path: path))
            case .url(let text, let token):
                guard let url = WebSocketURL(text) else { throw LoadError("\(text) is no address of an admin API") }
                address = .url(url, token: token, caFile.map { .file($0) } ?? .system)
            }
        } catch let error as LoadError {
            throw error
        } catch {
            throw LoadError("\(error)")
        }
    }

    private func connect(patience: Duration) throws -> AdminClient {
        switch address {
        case .socket(let socket): try AdminClient(socket: socket, patience: patience)
        case .url(let url, let token, let trust):
            try AdminClient(url: url, token: token, trust: trust, patience: patience)
        }
    }

    /// The server's books as they are now.
    /// - Parameter since: tells of overdue pushes only those that were intended since.
    /// - Throws: ``LoadError``.
    func audit(since: Instant? = nil) async throws -> AuditView {
        try await with(patience: Self.auditPatience) { try await $0.perform(AuditPushes(since: since)) }
    }

    /// Where the server says that its metrics are; nil where it serves none by TCP.
    /// - Throws: ``LoadError``.
    func metricsURL() async throws -> String? { try await with { try await $0.perform(GetServerInfo()).metrics } }

    /// Whether there is a group of this name.
    /// - Throws: ``LoadError``.
    func hasGroup(_ name: Handle) async throws -> Bool {
        try await with { client in
            do {
                _ = try await client.perform(GetGroup(name))
                return true
            } catch AdminFailure.refused(let refusal) where refusal.code == .notFound {
                return false
            }
        }
    }

    /// Makes the group, or takes the place of the one with its name.
    /// - Throws: ``LoadError``.
    func setGroup(_ name: Handle, members: [Handle]) async throws {
        try await with { _ = try await $0.perform(SetGroup(name: name, strategy: .all, members: members)) }
    }

    /// Deletes those of the groups that there are.
    /// - Throws: ``LoadError`` at the first that cannot be deleted.
    func deleteGroups(_ names: [Handle]) async throws {
        try await with { client in
            for name in names {
                do {
                    _ = try await client.perform(DeleteGroup(name))
                } catch AdminFailure.refused(let refusal) where refusal.code == .notFound {
                    continue
                }
            }
        }
    }

    /// - Throws: ``LoadError`` with why the admin API did not do what `body` asked of it.
    private func with<Value: Sendable>(
        patience: Duration = AdminClient.standardPatience, _ body: (AdminClient) async throws -> Value
    ) async throws -> Value {
        do {
            let client = try connect(patience: patience)
            let result: Result<Value, any Error>
            do {
                result = .success(try await body(client))
            } catch {
                result = .failure(error)
            }
            await client.close()
            return try result.get()
        } catch {
            throw LoadError(Self.words(error))
        }
    }

    /// Why the admin API did not do what it was asked to, and what to do about it.
    private static func words(_ error: any Error) -> String {
        guard let failure = error as? AdminFailure else { return "\(error)" }
        return switch failure {
        case .notRunning(let socket):
            "no server answers at the admin socket \(socket); see its log, or name the socket or the data folder of a "
                + "running server with --server or --data"
        case .notAllowed(let socket): "this user may not use \(socket); run this as the user who runs the server"
        case .tokenRefused:
            "the server's admin API does not know the token; give the one of its configuration with --token"
        case .untrusted(let reason):
            "the certificate of the server's admin API is not trusted: \(reason); name its authority's certificate "
                + "with "
                + "--ca-file"
        case .unreachable(let reason):
            "the server's admin API cannot be reached: \(reason); check that the server runs, and the URL of --server"
        case .lost(let reason):
            "the server's admin API closed the connection before it answered (\(reason)); see its log"
        case .timedOut: "the server's admin API does not answer; see its log and GET /readyz"
        case .refused(let refusal): "the server's admin API refuses: \(refusal.message)"
        case .notTaken(let error):
            "the server's admin API did not accept the request (\(error.message)); use the reveille that runs the "
                + "server"
        }
    }
}
