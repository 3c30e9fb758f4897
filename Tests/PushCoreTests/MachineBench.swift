import CallVocabulary
import PushCore
import PushVocabulary
import Testing

/// A push machine on a clock of its own, with what it wants done in sight.
struct MachineBench {
    /// Where a request is on the wire.
    typealias Place = (connection: PushConnectionID, stream: Int32)

    static let start = Instant(milliseconds: 1_700_000_000_000)

    var machine: PushMachine
    var now = Self.start
    /// What came of the last step.
    private(set) var effects: [PushEffect] = []
    private(set) var outcomes: [PushID: [PushOutcome]] = [:]
    private(set) var alarms: [PushAlarm] = []
    /// Asked for and not answered.
    private var unsigned: [Int] = []
    private var unopened: [PushConnectionID] = []
    private var nextStream: [PushConnectionID: Int32] = [:]

    init(_ change: (inout PushPolicy) -> Void = { _ in }) {
        var policy = PushPolicy()
        change(&policy)
        machine = PushMachine(policy: policy, seed: 7)
    }

    /// A machine with a provider token and one open connection.
    static func ready(streamLimit: Int = 100, _ change: (inout PushPolicy) -> Void = { _ in }) -> Self {
        var bench = MachineBench(change)
        // Needs a push to be started by, which is gone again afterwards.
        bench.queue(push(999))
        bench.give(.dropped(push(999)))
        bench.give(.providerTokenSigned(generation: 1))
        bench.give(.opened(connection(0), streamLimit: streamLimit))
        return bench
    }

    mutating func give(_ input: PushInput) {
        switch input {
        case .providerTokenSigned(let generation, _), .providerTokenFailed(let generation, _):
            unsigned.removeAll { $0 == generation }
        case .opened(let id, _), .closed(let id, _): unopened.removeAll { $0 == id }
        default: break
        }
        effects = []
        machine.handle(input, now: now, effects: &effects)
        note()
    }

    /// Lets time pass, stopping at each deadline on the way. Effects of all of them are kept.
    mutating func pass(_ duration: Duration) {
        let end = now + duration
        var all: [PushEffect] = []
        while let deadline = machine.nextDeadline(), deadline <= end {
            now = max(now, deadline)
            effects = []
            machine.handleTimeouts(now: now, effects: &effects)
            note()
            all += effects
        }
        now = end
        effects = all
    }

    private mutating func note() {
        for effect in effects {
            if case .outcome(let push, let outcome) = effect { outcomes[push, default: []].append(outcome) }
            switch effect {
            case .alarm(let alarm): alarms.append(alarm)
            case .signProviderToken(let generation, _): unsigned.append(generation)
            case .open(let id): unopened.append(id)
            case .close(let id): unopened.removeAll { $0 == id }
            case .outcome, .ping, .ready, .submit, .cancel: break
            }
        }
    }

    /// Carries out what was asked for besides pushes: tokens are signed, connections opened, and the next ones that this
    /// leads to, until a push is announced, for two seconds at most. Effects of all of it are kept.
    mutating func letConnect() {
        var all = effects
        for _ in 0..<20 {
            while let generation = unsigned.first {
                let isFetched = machine.policy.credential == .fetchedToken
                give(.providerTokenSigned(generation: generation, expiresAt: isFetched ? now + .seconds(3600) : nil))
                all += effects
            }
            while let id = unopened.first {
                give(.opened(id, streamLimit: 100))
                all += effects
            }
            let isAnnounced = all.contains { if case .ready = $0 { true } else { false } }
            guard !isAnnounced, machine.queueDepth > machine.heldPushes else { break }
            pass(.milliseconds(100))
            all += effects
        }
        effects = all
    }

    /// The tokens that the last step asked for.
    var signed: [Int] {
        effects.compactMap { if case .signProviderToken(let generation, _) = $0 { generation } else { nil } }
    }

    mutating func queue(
        _ push: PushID, ring: Duration = .seconds(45), registeredAt: Instant? = nil, to token: PushToken? = nil,
        of user: Handle? = nil, isUrgent: Bool = true
    ) {
        let terms = PushTerms(
            expiresAt: now + ring, tokenRegisteredAt: registeredAt, token: token, user: user, isUrgent: isUrgent)
        give(.queued(push, terms))
    }

    /// Answers `ready` and carries the submit out. Returns where the push went.
    @discardableResult
    mutating func transmit(_ push: PushID) -> Place? {
        give(.cleared(push))
        return carryOutSubmit(of: push)
    }

    mutating func carryOutSubmit(of push: PushID) -> Place? {
        for case .submit(let connection, push, _) in effects {
            let stream = takeStream(on: connection)
            give(.submitted(connection, push, stream: stream))
            return (connection, stream)
        }
        return nil
    }

    mutating func takeStream(on connection: PushConnectionID) -> Int32 {
        let stream = nextStream[connection, default: 1]
        nextStream[connection] = stream + 2
        return stream
    }

    /// Queues and transmits a push there is a stream for.
    mutating func send(
        _ push: PushID, ring: Duration = .seconds(45), registeredAt: Instant? = nil, to token: PushToken? = nil,
        of user: Handle? = nil, isUrgent: Bool = true
    ) throws -> Place {
        queue(push, ring: ring, registeredAt: registeredAt, to: token, of: user, isUrgent: isUrgent)
        return try retransmit(push)
    }

    /// Transmits a push that the last step announced.
    mutating func retransmit(_ push: PushID) throws -> Place {
        try #require(announced.contains(push))
        return try resend(push)
    }

    mutating func answer(_ place: Place, _ status: Int, _ reason: String = "") {
        let body = reason.isEmpty ? "" : "{\"reason\":\"\(reason)\"}"
        give(.answered(place.connection, stream: place.stream, PushAnswer.apns(status: status, body: Array(body.utf8))))
    }

    mutating func answer(_ place: Place, _ answer: PushAnswer) {
        give(.answered(place.connection, stream: place.stream, answer))
    }

    /// Queues a push, has a connection opened for it if there is none, and transmits it.
    mutating func sendSomehow(_ push: PushID, to token: PushToken? = nil) throws -> Place {
        queue(push, to: token)
        letConnect()
        return try retransmit(push)
    }

    /// Sends a push, and has the credential refused to it and to its second try, whatever connections that takes.
    mutating func refuseTwice(_ push: PushID, _ reason: String = "InvalidProviderToken") throws {
        try answer(sendSomehow(push), 403, reason)
        #expect(outcomes[push] == [.returned])
        letConnect()
        try answer(retransmit(push), 403, reason)
        #expect(outcomes[push] == [.returned, .rejected(reason: reason, isTokenDead: false)])
        letConnect()
    }

    /// Transmits a push that was announced, whichever step did.
    mutating func resend(_ push: PushID) throws -> Place {
        let place = transmit(push)
        return try #require(place)
    }

    var opened: [PushConnectionID] {
        effects.compactMap { if case .open(let id) = $0 { id } else { nil } }
    }

    var announced: [PushID] {
        effects.compactMap { if case .ready(let id) = $0 { id } else { nil } }
    }
}

func push(_ number: UInt64) -> PushID { PushID(high: 0, low: number) }

func connection(_ serial: UInt64) -> PushConnectionID { PushConnectionID(serial: serial) }

/// The token of one device of many.
func device(_ number: Int) -> PushToken {
    PushToken(provider: .apns, kind: .voip, environment: .production, topic: "a.voip", token: "\(number)")
}

/// An answer of a provider other than APNs.
func providerAnswer(
    _ status: Int, _ reason: String, _ verdict: PushVerdict, retryAfter: Duration? = nil
) -> PushAnswer {
    PushAnswer(status: status, reason: reason, verdict: verdict, retryAfter: retryAfter)
}
