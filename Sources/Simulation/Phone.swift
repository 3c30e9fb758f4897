import CallCore
import CallVocabulary

/// One device of one user: its app, and what the app believes.
final class Phone {
    /// A call as the app knows it.
    struct Call {
        var id: CallID
        var role: CallRole
        var state: CallState
        var push: PushID?
        /// The invite's result is not there yet.
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
    /// Hears no push, and seldom comes by itself.
    var isSilent = false

    var link: Int?
    /// `session.open` was answered on `link`.
    var isOpen = false
    var openRequest: RequestID?
    var session: SessionOpened?
    var scope = SessionGrant.Scope.full
    var openScope = SessionGrant.Scope.full
    var lastSeq: UInt64 = 0
    var calls: [Call] = []
    /// Asked and not answered.
    var pending: [Pending] = []
    /// Reports of pushes that go out once a session is open.
    var reports: [PushReport] = []

    init(index: Int, key: DeviceKey, tokens: [PushToken]) {
        self.index = index
        self.key = key
        self.tokens = tokens
    }

    func call(_ id: CallID) -> Call? { calls.first { $0.id == id } }

    func change(_ id: CallID, _ body: (inout Call) -> Void) {
        if let index = calls.firstIndex(where: { $0.id == id }) { body(&calls[index]) }
    }

    func end(_ id: CallID) { change(id) { $0.state = .ended } }
}

/// One TCP connection, with a way up and a way down that keep their order.
struct Link {
    /// nil for one HTTP exchange.
    var phone: Int?
    var process: Int
    var isServerOpen = true
    var isClientOpen = true
    var upLane: Int64 = 0
    var downLane: Int64 = 0
    /// What the shard knows: the core was told of a good token here, and has opened a session.
    var hasToken = false
    var hasSession = false
    /// What the token shown here entitles to.
    var scope = SessionGrant.Scope.full

    func serverHolds(_ number: Int) -> Bool { isServerOpen && process == number }
}
