import AdminKit
import AdminProtocol
import CallServer
import CallVocabulary
import EventLoop
import LibWebSockets

/// The requests of a load to the server's admin API. Every method throws ``LoadError``. Any thread.
struct LoadAdmin: Sendable {
    private enum Address {
        case socket(SocketAddress)
        case url(WebSocketURL, token: String, LWSContext.Trust)
    }

    /// For a store of millions.
    private static let auditPatience = Duration.seconds(120)

    private let address: Address

    /// - Parameter caFile: the certificates to trust at a URL; nil: the system's.
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

    /// Audits calls and pushes.
    /// - Parameter since: only overdue pushes that were intended since.
    func audit(since: Instant? = nil) async throws -> AuditView {
        try await with(patience: Self.auditPatience) { try await $0.perform(AuditPushes(since: since)) }
    }

    /// nil if the server has no metrics by TCP.
    func metricsURL() async throws -> String? { try await with { try await $0.perform(GetServerInfo()).metrics } }

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

    /// Creates or replaces the group.
    func setGroup(_ name: Handle, members: [Handle]) async throws {
        try await with { _ = try await $0.perform(SetGroup(name: name, strategy: .all, members: members)) }
    }

    /// Ignores groups that do not exist.
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

    /// The failure, with advice.
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
            "the certificate of the server's admin API is not trusted: \(reason.clause); name its authority's "
                + "certificate with --ca-file"
        case .unreachable(let reason):
            "the server's admin API cannot be reached: \(reason.clause); check that the server runs, and the URL of "
                + "--server"
        case .lost(let reason):
            "the server's admin API closed the connection before it answered (\(reason.clause)); see its log"
        case .timedOut: "the server's admin API does not answer; see its log and GET /readyz"
        case .refused(let refusal): "the server's admin API refuses: \(refusal.message)"
        case .notTaken(let error):
            "the server's admin API did not accept the request (\(error.message.clause)); use the reveille that "
                + "runs the server"
        }
    }
}
