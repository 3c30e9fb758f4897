import CallCore
import CallVocabulary

/// One device of one user: its app and the app's state.
final class Phone {
    struct Call {
        var id: CallID
        var role: CallRole
        var state: CallState
        var push: PushID?
        /// The reply to the invite is missing.
        var isUnconfirmed = false

        var isOver: Bool { state == .ended }
    }

    struct Pending {
        var request: RequestID
        var command: ClientRequest
    }

    let index: Int
    let key: DeviceKey
    var tokens: [PushToken]
    /// The age of the user token that it opens sessions with.
    var tokenIssuedAt: Instant
    /// Gets no push, and seldom connects by itself.
    var isSilent = false

    var link: Int?
    /// Whether `session.open` succeeded on `link`.
    var isOpen = false
    var openRequest: RequestID?
    var session: SessionOpened?
    var scope = SessionGrant.Scope.full
    var openScope = SessionGrant.Scope.full
    var lastSeq: UInt64 = 0
    var calls: [Call] = []
    /// Requests without a reply.
    var pending: [Pending] = []
    /// Reports to send once a session is open.
    var reports: [PushReport] = []

    init(index: Int, key: DeviceKey, tokens: [PushToken], tokenIssuedAt: Instant) {
        self.index = index
        self.key = key
        self.tokens = tokens
        self.tokenIssuedAt = tokenIssuedAt
    }

    func call(_ id: CallID) -> Call? { calls.first { $0.id == id } }

    func change(_ id: CallID, _ body: (inout Call) -> Void) {
        if let index = calls.firstIndex(where: { $0.id == id }) { body(&calls[index]) }
    }

    func end(_ id: CallID) { change(id) { $0.state = .ended } }
}

/// One TCP connection, with ordered delivery in both directions.
struct Link {
    /// nil for an HTTP exchange.
    var phone: Int?
    var process: Int
    var isServerOpen = true
    var isClientOpen = true
    var upLane: Int64 = 0
    var downLane: Int64 = 0
    /// The shard's state: whether the core accepted a token here and opened a session.
    var hasToken = false
    var hasSession = false
    /// The scope of that token.
    var scope = SessionGrant.Scope.full

    func serverHolds(_ number: Int) -> Bool { isServerOpen && process == number }
}
