import AdminServer
import EventLoop
import LibWebSockets
import Synchronization

/// The services that ``BackendResources`` on all shards share. May be used from any thread.
final class BackendServices: Sendable {
    let tokens: BackendTokens
    /// Makes the ids of calls from `Idempotency-Key`s.
    let callSecret: [UInt8]
    /// Reads a page for an export.
    let export: @Sendable (BackendExport) async throws -> HTTPResponse
    /// The admin thread's mailbox; nil before it has started.
    private let admin = Mutex<Mailbox<AdminMessage>?>(nil)

    init(
        tokens: BackendTokens, callSecret: [UInt8],
        export: @escaping @Sendable (BackendExport) async throws -> HTTPResponse
    ) {
        self.tokens = tokens
        self.callSecret = callSecret
        self.export = export
    }

    func attach(_ mailbox: Mailbox<AdminMessage>) { admin.withLock { $0 = mailbox } }

    func detach() { admin.withLock { $0 = nil } }

    /// - Returns: false before the start and after the stop of the admin thread.
    func ask(_ question: BackendQuestion) -> Bool {
        admin.withLock { $0 }?.post(.backend(question)) ?? false
    }
}
