import Dispatch
import PostgresStore
import Synchronization

/// The backends' tokens that a server accepts: those of its own file, and those of its realm. May be used from any
/// thread.
final class BackendTokens: Sendable {
    private struct State {
        var own: [BackendToken]
        var shared: [BackendToken] = []
        var byDigest: [String: BackendToken] = [:]

        mutating func index() { byDigest = Dictionary((own + shared).map { ($0.digest, $0) }) { $1 } }
    }

    private let state: Mutex<State>

    init(_ tokens: [BackendToken]) {
        var state = State(own: tokens)
        state.index()
        self.state = Mutex(state)
    }

    /// Replaces the tokens of the file, for all further requests.
    func replace(with tokens: [BackendToken]) { change { $0.own = tokens } }

    /// Replaces the tokens of the realm, likewise.
    func replaceShared(with tokens: [BackendToken]) { change { $0.shared = tokens } }

    private func change(_ body: (inout State) -> Void) {
        state.withLock { state in
            body(&state)
            state.index()
        }
    }

    /// The token with this text; nil if it is unknown. The look-up need not take constant time, because the digest of a
    /// random token reveals nothing about other tokens.
    func find(_ text: String) -> BackendToken? {
        let digest = BackendToken.digest(of: text)
        return state.withLock { $0.byDigest[digest] }
    }

    /// Reads the realm's tokens again and again, until the task is cancelled: a command on any machine changes them.
    /// - Parameter realm: nil for a server without a realm.
    func follow(_ realm: KeptState?) async {
        guard let realm else { return }
        while !Task.isCancelled {
            try? await Task.sleep(for: BackendToken.sharedWithin / 2)
            // Not on this thread, because it blocks. What is wrong with the database the lease says.
            let content: [UInt8]? = await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: try? realm.read()) }
            }
            if let content { replaceShared(with: BackendToken.shared(content)) }
        }
    }
}
