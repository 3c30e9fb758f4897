import CallVocabulary
import PushVocabulary

@testable import PushCore

/// What can go wrong besides an answer.
enum PushFault: String, CaseIterable {
    // On the wire.
    case refusedStream, resetStream, goAwayBelow, goAwayAbove, goAwayTwice, goAwayZero, noAnswer, blackHole
    case connectionLost, limitFalls
    // On the way there.
    case limitFallsBeforeClear, notSubmitted, connectTimeout, connectRefused, signingFails, fetchFails
}

/// What happens to a push in a row of the table: an answer, or something else.
enum PushTrouble {
    case answer(PushAnswer)
    case fault(PushFault)
}

/// One push sent into trouble on a clock of its own, with all that comes of it.
struct PushFaultScene {
    /// What the scene is played with.
    struct Setting {
        var trouble: PushTrouble
        /// Only the first time it could come.
        var comesOnce = false
        var isUrgent = true
        var isTokenOld = false
        var credential = PushPolicy.Credential.signedToken
    }

    let setting: Setting
    private(set) var bench: MachineBench
    private let subject = push(1)
    /// What the machine did from the trouble until it had dealt with it or the push was over.
    private(set) var effects: [String] = []
    private(set) var sends = 0
    private(set) var alarms: [PushAlarm.Kind] = []
    private(set) var strikes = 0
    private var deaf: Set<PushConnectionID> = []
    /// The connection that the trouble came on first.
    private var struck: PushConnectionID?
    private var struckAt: Instant?
    /// From the first trouble to the next try; nil when there was none.
    private(set) var wait: Duration?
    /// Not yet carried out.
    private var pending: [PushEffect] = []

    init(_ setting: Setting) {
        self.setting = setting
        bench = MachineBench {
            $0.credential = setting.credential
            // Expected waits come out the same for each seed.
            $0.connectStagger = .milliseconds(100)
        }
    }

    var outcomes: [PushOutcome] { bench.outcomes[subject] ?? [] }
    var isTokenDead: Bool { if case .rejected(_, isTokenDead: true)? = outcomes.last { true } else { false } }

    /// Whether the connection that the trouble came on is still used; nil when it came on none.
    var isConnectionKept: Bool? {
        struck.map { struck in bench.machine.connections.contains { $0.id == struck && $0.isOpen } }
    }

    /// Plays it to the end.
    mutating func play() {
        if isAboutSending { prepare() }
        bench.queue(subject, ring: setting.isUrgent ? .seconds(45) : .seconds(3600), isUrgent: setting.isUrgent)
        pending = bench.effects
        carryOut()
        // Bounded: a machine whose deadlines do not move must not hang the suite.
        for _ in 0..<2000 {
            guard bench.machine.contains(subject), let next = bench.machine.nextDeadline() else { return }
            bench.pass(max(.zero, next - bench.now))
            pending += bench.effects
            carryOut()
        }
    }

    private var isAboutSending: Bool {
        guard case .fault(let fault) = setting.trouble else { return true }
        switch fault {
        case .connectTimeout, .connectRefused, .signingFails, .fetchFails: return false
        case .refusedStream, .resetStream, .goAwayBelow, .goAwayAbove, .goAwayTwice, .goAwayZero, .noAnswer, .blackHole,
            .connectionLost, .limitFalls, .limitFallsBeforeClear, .notSubmitted:
            return true
        }
    }

    /// Two connections that have both answered well, and a credential that was refused once.
    private mutating func prepare() {
        bench.queue(push(100))
        if setting.credential != .certificate { sign(1) }
        bench.give(.opened(connection(0), streamLimit: 1))
        let first = bench.transmit(push(100))
        bench.queue(push(101))
        bench.pass(.seconds(1))
        bench.give(.opened(connection(1), streamLimit: 1))
        let second = bench.transmit(push(101))
        for id in [connection(0), connection(1)] { bench.give(.streamLimitChanged(id, 100)) }
        for place in [first, second].compactMap({ $0 }) { bench.answer(place, 200) }
        if setting.isTokenOld {
            bench.pass(.seconds(30 * 60))
            // Idle connections are not pinged within the half hour, but the clock has moved.
            for id in [connection(0), connection(1)] { bench.give(.pingAnswered(id)) }
        }
        bench.machine.credential.note(PushAlarm.credentialRefused(reason: "InvalidProviderToken"))
    }

    private mutating func sign(_ generation: Int) {
        let expiresAt = setting.credential == .fetchedToken ? bench.now + .seconds(3600) : nil
        give(.providerTokenSigned(generation: generation, expiresAt: expiresAt))
    }

    // MARK: What the shell and the peer do

    /// Bounded like ``play()``: effects that lead to each other for ever must not hang the suite.
    private mutating func carryOut() {
        for _ in 0..<10_000 where !pending.isEmpty {
            let effect = pending.removeFirst()
            note(effect)
            perform(effect)
        }
    }

    private mutating func give(_ input: PushInput) {
        bench.give(input)
        pending += bench.effects
    }

    private mutating func answer(_ place: MachineBench.Place, _ answer: PushAnswer) {
        give(.answered(place.connection, stream: place.stream, answer))
    }

    private mutating func note(_ effect: PushEffect) {
        if case .alarm(let alarm) = effect { return alarms.append(alarm.kind) }
        if case .outcome(_, let outcome) = effect, outcome != .returned { return }
        if strikes == 1 || (strikes == 0 && !isAboutSending) { effects.append(Self.word(of: effect)) }
    }

    private mutating func perform(_ effect: PushEffect) {
        switch effect {
        case .open(let id): open(id)
        case .signProviderToken(let generation, _):
            if strikes(.signingFails) || strikes(.fetchFails) {
                give(.providerTokenFailed(generation: generation, reason: "x"))
            } else {
                sign(generation)
            }
        case .ping(let id): if !deaf.contains(id) { give(.pingAnswered(id)) }
        case .ready(subject): clear()
        case .submit(let id, subject, _):
            if strikes(.notSubmitted) {
                struck = struck ?? id
                return give(.notSubmitted(id, subject))
            }
            submit(on: id)
        case .ready, .submit, .close, .cancel, .outcome, .alarm: break
        }
    }

    /// Whether the trouble is this one, and comes now.
    private mutating func strikes(_ fault: PushFault) -> Bool {
        guard case .fault(fault) = setting.trouble, !setting.comesOnce || strikes == 0 else { return false }
        strikes += 1
        return true
    }

    private mutating func open(_ id: PushConnectionID) {
        if strikes(.connectTimeout) { return }
        if strikes(.connectRefused) { return give(.closed(id, reason: "refused")) }
        give(.opened(id, streamLimit: 100))
    }

    private mutating func clear() {
        guard strikes(.limitFallsBeforeClear) else { return give(.cleared(subject)) }
        for id in [connection(0), connection(1)] { give(.streamLimitChanged(id, 0)) }
        give(.cleared(subject))
        guard setting.comesOnce else { return }
        give(.streamLimitChanged(connection(0), 100))
    }

    private mutating func submit(on id: PushConnectionID) {
        sends += 1
        if let struckAt, wait == nil { wait = bench.now - struckAt }
        let stream = bench.takeStream(on: id)
        give(.submitted(id, subject, stream: stream))
        guard !setting.comesOnce || strikes == 0 else {
            return answer((id, stream), PushAnswer.apns(status: 200, body: []))
        }
        strikes += 1
        if struck == nil {
            struck = id
            struckAt = bench.now
        }
        switch setting.trouble {
        case .answer(let answer): self.answer((id, stream), answer)
        case .fault(let fault): strike(fault, (id, stream))
        }
    }

    private mutating func strike(_ fault: PushFault, _ place: MachineBench.Place) {
        let id = place.connection
        func goAway(_ last: Int32) -> PushInput { .goneAway(id, lastStream: last, reason: "NO_ERROR") }
        switch fault {
        case .refusedStream: give(.streamRefused(id, stream: place.stream))
        case .resetStream: give(.streamLost(id, stream: place.stream, reason: "INTERNAL_ERROR"))
        case .goAwayBelow: give(goAway(place.stream))
        case .goAwayAbove: give(goAway(place.stream - 1))
        case .goAwayTwice:
            give(goAway(.max))
            give(goAway(place.stream - 1))
        case .goAwayZero: give(goAway(0))
        case .noAnswer: break
        case .blackHole: deaf.insert(id)
        case .connectionLost: give(.closed(id, reason: "reset"))
        case .limitFalls:
            give(.streamLimitChanged(id, 0))
            answer(place, PushAnswer.apns(status: 200, body: []))
        case .limitFallsBeforeClear, .notSubmitted, .connectTimeout, .connectRefused, .signingFails, .fetchFails:
            answer(place, PushAnswer.apns(status: 200, body: []))
        }
    }

    static func word(of effect: PushEffect) -> String {
        switch effect {
        case .open: "open"
        case .close: "close"
        case .ping: "ping"
        case .signProviderToken: "sign"
        case .ready: "ready"
        case .submit: "submit"
        case .cancel: "cancel"
        case .outcome: "back"
        case .alarm: "alarm"
        }
    }

    static func word(of outcome: PushOutcome) -> String {
        switch outcome {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .unknown: "unknown"
        case .returned: "returned"
        case .unsent: "unsent"
        }
    }
}
