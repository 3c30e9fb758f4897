import CallVocabulary
import RecordModel
import Testing

@testable import CallCore

/// Where the session of a device can stand when something happens to it.
enum SessionSituation: String, CaseIterable, CustomTestStringConvertible {
    case none, attached, acked, partlyAcked, resumed, background, wake
    case detached, detachedAcked, detachedPartlyAcked, detachedWake
    case windowOver, replaced, closed, loggedOut, overflowed, overflowedDetached, overflowedAcked, restarted

    var testDescription: String { rawValue }

    /// The session before the input, as the table has it.
    var state: String {
        switch self {
        case .none, .windowOver, .closed, .loggedOut, .restarted: "no session"
        case .attached: "attached 0/3"
        case .acked, .resumed, .overflowedAcked: "attached 3/3"
        case .partlyAcked: "attached 2/3"
        case .background: "attached background 0/3"
        case .wake: "attached wake 0/3"
        case .replaced: "attached 0/1"
        case .overflowed: "attached overflowed 0/3"
        case .detached: "detached timed 0/3"
        case .detachedAcked: "detached timed 3/3"
        case .detachedPartlyAcked: "detached timed 2/3"
        case .detachedWake: "detached wake timed 0/3"
        case .overflowedDetached: "detached timed overflowed 0/3"
        }
    }
}

/// What can happen to it.
enum SessionInput: String, CaseIterable {
    // On a new socket.
    case open, openWithTokens, openWithoutTokens, wake
    case resume, resumeFromStart, resumeStaleToken, resumeUsedToken, resumeFuture, resumeBelowAck, resumeOther
    case resumeOtherScope, resumeFromOtherDevice, commandUnopened, notifyUnopened, lostUnopened
    // On its socket.
    case openAgain, ackAll, ackSome, ackNothing, ackFuture, foreground, background, close, logout, tokens, noTokens
    case lost, command
    // To all.
    case pause, window

    static let groups = [
        "unservedResumes": ["resumeStaleToken", "resumeUsedToken", "resumeFuture", "resumeOther"]
    ]

    var needsSocket: Bool {
        switch self {
        case .openAgain, .ackAll, .ackSome, .ackNothing, .ackFuture, .foreground, .background, .close, .logout,
            .tokens, .noTokens, .lost, .command:
            true
        case .open, .openWithTokens, .openWithoutTokens, .wake, .resume, .resumeFromStart, .resumeStaleToken,
            .resumeUsedToken, .resumeFuture, .resumeBelowAck, .resumeOther, .resumeOtherScope,
            .resumeFromOtherDevice, .commandUnopened, .notifyUnopened, .lostUnopened, .pause, .window:
            false
        }
    }
}

/// A device of bob's that rings for a call of alice's, with three events on its session.
struct SessionScene {
    let world: World
    let alice: Phone
    let bob: Phone
    /// Another device of bob's.
    let other: Phone
    let call: CallID
    let situation: SessionSituation
    /// A resume token that was good once.
    private var usedToken = "none"

    init(_ situation: SessionSituation) throws {
        self.situation = situation
        var limits = CoreLimits()
        if situation.rawValue.hasPrefix("overflowed") { limits.replayEvents = 2 }
        world = World(limits: limits)
        alice = world.phone("alice")
        bob = world.phone("bob")
        other = world.phone("bob", pushable: false)
        alice.open()
        let isWoken = situation == .wake || situation == .detachedWake
        if situation != .none { bob.open() }
        if isWoken { bob.ask(.close) }
        call = alice.call(.user(bob.user), sdp: "1")
        guard situation != .none else { return }
        if isWoken {
            try world.deliver(call, to: bob)
            bob.wake(call)
        }
        bob.ring(call)
        alice.send(["2"], of: call)
        alice.send(["3"], of: call)
        build()
    }

    private mutating func build() {
        switch situation {
        case .none, .attached, .wake, .overflowed: break
        case .acked, .overflowedAcked: bob.ack()
        case .partlyAcked: bob.notify(.ack(seq: 2))
        case .resumed:
            usedToken = bob.session?.resumeToken ?? usedToken
            bob.lose()
            bob.resume()
        case .background: bob.ask(.state(.background))
        case .detached, .detachedWake, .overflowedDetached: bob.lose()
        case .detachedAcked:
            bob.ack()
            bob.lose()
        case .detachedPartlyAcked:
            bob.notify(.ack(seq: 2))
            bob.lose()
        case .windowOver:
            bob.lose()
            world.advance(world.timers.resume)
        case .replaced:
            usedToken = bob.session?.resumeToken ?? usedToken
            bob.open()
        case .closed: bob.ask(.close)
        case .loggedOut: bob.ask(.logout)
        case .restarted: world.restart()
        }
    }

    // MARK: Inputs

    func carryOut(_ input: SessionInput) -> Result<Reply, SignalError>? {
        if input.needsSocket { return say(input) }
        let scope = bob.scope
        switch input {
        case .open: return bob.open(.full, resuming: nil)
        case .openWithTokens: return bob.open(sending: [.voip("new")])
        case .openWithoutTokens: return bob.open(sending: [])
        case .wake: return bob.wake(call)
        case .resume: return resume(scope)
        case .resumeFromStart: return resume(scope, lastSeq: 1)
        case .resumeStaleToken: return resume(scope, token: "stale")
        case .resumeUsedToken: return resume(scope, token: usedToken)
        case .resumeFuture: return resume(scope, lastSeq: bob.lastSeq + 1)
        case .resumeBelowAck: return resume(scope, lastSeq: 0)
        case .resumeOther: return resume(scope, session: SessionID(high: 1, low: 1))
        case .resumeOtherScope: return resume(scope == .full ? .call(call) : .full)
        case .resumeFromOtherDevice: return resume(scope, phone: other)
        case .commandUnopened, .notifyUnopened, .lostUnopened: return sayUnopened(input)
        case .pause: world.advance(.seconds(10))
        case .window: world.advance(world.timers.resume)
        default: break
        }
        return nil
    }

    private func resume(
        _ scope: SessionGrant.Scope, session: SessionID? = nil, token: String? = nil, lastSeq: UInt64? = nil,
        phone: Phone? = nil
    ) -> Result<Reply, SignalError> {
        let request = ResumeRequest(
            session: session ?? bob.session?.session ?? SessionID(high: 2, low: 2),
            token: token ?? bob.session?.resumeToken ?? "none", lastSeq: lastSeq ?? bob.lastSeq)
        return (phone ?? bob).open(scope, resuming: request)
    }

    private func sayUnopened(_ input: SessionInput) -> Result<Reply, SignalError>? {
        let mine = bob.connection
        let socket = world.connect(bob)
        defer { bob.connection = mine }
        switch input {
        case .commandUnopened:
            bob.connection = socket
            return bob.ask(.ringing(call))
        case .notifyUnopened: world.step(.client(.notified(socket, nil, .ack(seq: 1))))
        default: world.step(.connectionLost(socket))
        }
        return nil
    }

    private func say(_ input: SessionInput) -> Result<Reply, SignalError>? {
        switch input {
        case .openAgain:
            let description = DeviceDescription(id: bob.id, platform: .ios)
            return bob.ask(.open(SessionOpen(token: "", device: description)))
        case .ackAll: bob.ack()
        case .ackSome: bob.notify(.ack(seq: 1))
        case .ackNothing: bob.notify(.ack(seq: 0))
        case .ackFuture: bob.notify(.ack(seq: bob.lastSeq + 1))
        case .foreground: return bob.ask(.state(.foreground))
        case .background: return bob.ask(.state(.background))
        case .close: return bob.ask(.close)
        case .logout: return bob.ask(.logout)
        case .tokens: return bob.ask(.updateDevice(push: [.voip("new")]))
        case .noTokens: return bob.ask(.updateDevice(push: []))
        case .lost: bob.lose()
        case .command: return bob.ask(.answer(call, sdp: nil))
        default: break
        }
        return nil
    }

    // MARK: In words

    /// Where everything stands: the session, the device's tokens, the call, its leg and its push.
    var standing: [String] {
        let device = world.core.directory.user(bob.user)?.device(bob.id)
        let leg = world.leg(call, of: bob)
        let push = world.push(call, to: bob)
        return [
            device?.session.map(text) ?? "no session", "tokens \(device?.tokens.count ?? 0)",
            "away \(device?.absence != nil)", "call \(world.store.calls[call]?.state.rawValue ?? "-")",
            "leg \(leg?.state.rawValue ?? "-")", "push \(push?.status.rawValue ?? "-")",
        ]
    }

    private func text(_ session: Session) -> String {
        var text = session.connection == nil ? "detached" : "attached"
        if session.scope != .full { text += " wake" }
        if session.appState == .background { text += " background" }
        if session.resumeDeadline != nil { text += " timed" }
        if session.hasOverflowed { text += " overflowed" }
        return "\(text) \(session.acknowledged)/\(session.lastSeq)"
    }

    func text(_ event: ServerEvent) -> String {
        switch event {
        case .incoming(let offer): "incoming+\(offer.candidates.count)"
        case .state(let change): "\(change.state)"
        case .ended(let ending): "ended(\(ending.reason))"
        case .candidates: "candidates"
        case .update: "update"
        case .peer: "peer"
        case .draining: "draining"
        }
    }

    func text(_ answer: Result<Reply, SignalError>?) -> String {
        switch answer {
        case nil: "-"
        case .failure(let error): error.code.name
        case .success(.opened(let opened)):
            "\(opened.resumed ? "resumed" : "new")(calls \(opened.calls.count), missed \(opened.missed.count))"
        case .success(let reply): reply == .done ? "done" : "\(reply)"
        }
    }
}
