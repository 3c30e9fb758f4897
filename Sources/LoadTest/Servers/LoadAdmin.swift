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

    private func connect(patience: Duration = AdminClient.standardPatience) throws -> AdminClient {
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
        do {
            let client = try connect(patience: Self.auditPatience)
            let audit: Result<AuditView, any Error>
            do {
                audit = .success(try await client.perform(AuditPushes(since: since)))
            } catch {
                audit = .failure(error)
            }
            await client.close()
            return try audit.get()
        } catch {
            throw LoadError("the server's books cannot be asked for by its admin API: \(error)")
        }
    }

    /// Makes the group, or takes the place of the one with its name. Calls `completion` on `loop`.
    func setGroup(
        _ name: Handle, members: [Handle], on loop: EventLoop,
        completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        Task {
            var result: Result<Void, any Error> = .success(())
            do {
                let client = try connect()
                do {
                    _ = try await client.perform(SetGroup(name: name, strategy: .all, members: members))
                } catch {
                    result = .failure(LoadError("the group \(name) could not be set: \(error)"))
                }
                await client.close()
            } catch {
                result = .failure(LoadError("the admin API cannot be asked: \(error)"))
            }
            loop.execute { [result] in completion.value(result) }
        }
    }
}
