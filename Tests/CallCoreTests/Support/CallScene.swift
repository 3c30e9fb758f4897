import CallVocabulary
import PushVocabulary
import Testing

@testable import CallCore

/// Where a call can stand when something happens to it.
enum CallSituation: String, CaseIterable, CustomTestStringConvertible {
    // The authorization hook is asked.
    case asked, askedAgain, askedAsleep, askedCallerLost, askedCallerBack, askedOpenly, askedSwitchedOff
    // The store is asked for a user who is not in memory.
    case sought, soughtForward
    // Nobody has answered.
    case told, halfTold, queued, sent, accepted, unknown, rejected, woken, wokenForAnother, ringing, reported
    case callerLost, declinedOnOne, restarted, backAfterRestart
    // To several.
    case list, listDeclined, hunt, huntLast, selfCall
    // Bob forwards to carol.
    case forwarding, forwarded
    // Answered.
    case answered, callerConnected, calleeConnected, wokenAnswered, connected, connectedCallerLost
    case connectedCalleeLost, answeredRestarted
    // Over.
    case cancelled, declined, busy, ringTimeout, noDevices, glare, connectTimeout, mediaFailed, hangup, connectionLost
    case wokenTooLate, forgotten, forgottenUnanswered

    var testDescription: String { rawValue }

    /// The call before the input, as the table has it.
    var state: String {
        switch self {
        case .asked, .askedAgain, .askedAsleep, .askedCallerLost, .askedCallerBack, .askedOpenly, .askedSwitchedOff,
            .sought:
            "call -"
        case .told, .halfTold, .selfCall: "call routing"
        case .queued, .sent, .accepted, .unknown, .rejected, .woken, .wokenForAnother: "call waking"
        case .ringing, .reported, .callerLost, .declinedOnOne, .restarted, .backAfterRestart, .list, .listDeclined,
            .forwarding, .forwarded, .soughtForward:
            "call ringing"
        case .hunt: "call ringing/1"
        case .huntLast: "call ringing/2"
        case .answered, .wokenAnswered, .answeredRestarted: "call answered"
        case .callerConnected: "call answered+caller"
        case .calleeConnected: "call answered+callee"
        case .connected, .connectedCallerLost, .connectedCalleeLost: "call connected"
        case .cancelled, .declined, .busy, .ringTimeout, .noDevices, .glare, .connectTimeout, .mediaFailed, .hangup,
            .connectionLost, .wokenTooLate, .forgotten, .forgottenUnanswered:
            "call ended"
        }
    }

    /// Whether the authorization hook is asked about the call, which is not there yet.
    var isAsked: Bool { state == "call -" && !isSought }

    /// Whether the store is asked for the callee, or for the user that the callee forwards to.
    var isSought: Bool { self == .sought || self == .soughtForward }

    /// How the call has ended: written `R` in the table, where the way it ended makes no difference.
    var reason: EndReason? {
        switch self {
        case .told, .halfTold, .queued, .sent, .accepted, .unknown, .rejected, .woken, .wokenForAnother, .ringing,
            .reported, .callerLost, .declinedOnOne, .restarted, .backAfterRestart, .list, .listDeclined, .hunt,
            .huntLast, .selfCall, .forwarding, .forwarded, .answered, .callerConnected, .calleeConnected,
            .wokenAnswered, .connected,
            .connectedCallerLost, .connectedCalleeLost, .answeredRestarted, .asked, .askedAgain, .askedAsleep,
            .askedCallerLost, .askedCallerBack, .askedOpenly, .askedSwitchedOff, .sought, .soughtForward:
            nil
        case .cancelled, .wokenTooLate, .forgottenUnanswered: .cancelled
        case .declined: .declined
        case .busy: .busy
        case .ringTimeout: .ringTimeout
        case .noDevices: .noDevices
        case .glare: .glare
        case .connectTimeout: .connectTimeout
        case .mediaFailed: .mediaFailed
        case .hangup, .forgotten: .hangup
        case .connectionLost: .connectionLost
        }
    }
}

/// A call in one situation, with everybody who can do something to it. Alice calls from A1 and has A2; bob has B1, which
/// wins where somebody does, and B2; C1 is carol's; S is a stranger; X is a stranger woken for another call.
final class CallScene {
    let world: World
    let situation: CallSituation
    private(set) var phones: [String: Phone] = [:]
    private(set) var call: CallID

    init(_ situation: CallSituation) throws {
        self.situation = situation
        var policy = AuthorizationPolicy()
        policy.allowsOnFailure = situation == .askedOpenly
        var limits = CoreLimits()
        if situation.isSought { limits.idleUsers = 1 }
        world = World(limits: limits, authorization: situation.isAsked ? policy : nil)
        call = world.newCall()
        try build()
    }

    // MARK: Who there is

    /// Made when first asked for.
    func phone(_ name: String) -> Phone {
        if let phone = phones[name] { return phone }
        let users = ["A": "alice", "B": "bob", "C": "carol", "S": "sam", "X": "xaver"]
        let user = users[String(name.prefix(1))] ?? name
        let phone = world.phone(user, pushable: name != "B2" || isAsleep)
        phones[name] = phone
        if name == "S" { phone.open() }
        if name == "X" { wakeForAnother(phone) }
        return phone
    }

    private var a1: Phone { phone("A1") }
    private var b1: Phone { phone("B1") }

    private func wakeForAnother(_ phone: Phone) {
        phone.open()
        phone.ask(.close)
        phone.wake(place(from: self.phone("S"), to: phone))
    }

    /// Another call, which the hook allows if it is asked.
    @discardableResult
    func place(_ id: CallID? = nil, from caller: Phone, to callee: Phone) -> CallID {
        let id = id ?? world.newCall()
        caller.send(.invite(Invite(call: id, to: .user(callee.user))))
        if let question = world.questions.last, question.call == id {
            world.step(.authorized(id, number: question.number, .allowed(CallPermit())))
        }
        return id
    }

    func name(_ party: Party?) -> String {
        guard let party else { return "nobody" }
        return phones.first { $0.value.id == party.device }?.key ?? "somebody"
    }

    // MARK: Making situations

    /// Whether bob's devices sleep when the call comes.
    private var isAsleep: Bool {
        switch situation {
        case .queued, .sent, .accepted, .unknown, .rejected, .woken, .wokenForAnother, .reported, .wokenAnswered,
            .wokenTooLate, .askedAsleep, .sought:
            true
        case .asked, .askedAgain, .askedCallerLost, .askedCallerBack, .askedOpenly, .askedSwitchedOff,
            .told, .halfTold, .ringing, .callerLost, .declinedOnOne, .restarted, .backAfterRestart, .list,
            .listDeclined, .hunt, .huntLast, .selfCall, .forwarding, .forwarded, .soughtForward, .answered,
            .callerConnected, .calleeConnected, .connected,
            .connectedCallerLost, .connectedCalleeLost, .answeredRestarted, .cancelled, .declined, .busy, .ringTimeout,
            .noDevices, .glare, .connectTimeout, .mediaFailed, .hangup, .connectionLost, .forgotten,
            .forgottenUnanswered:
            false
        }
    }

    private func open(_ names: String...) {
        for name in names { phone(name).open() }
    }

    private func invite(_ to: CallTarget) { a1.call(to, id: call, sdp: "1", custom: "2") }
    private func inviteBob() { invite(.user(b1.user)) }

    private func build() throws {
        switch situation {
        case .asked, .askedAgain, .askedAsleep, .askedCallerLost, .askedCallerBack, .askedOpenly, .askedSwitchedOff:
            buildAsked()
        case .told, .halfTold, .ringing, .callerLost, .declinedOnOne, .restarted, .backAfterRestart: buildTold()
        case .queued, .sent, .accepted, .unknown, .rejected, .woken, .wokenForAnother, .reported, .wokenAnswered,
            .wokenTooLate:
            try buildAsleep()
        case .list, .listDeclined, .hunt, .huntLast, .selfCall: buildSeveral()
        case .forwarding, .forwarded: buildForwarding()
        case .sought: buildSought()
        case .soughtForward: buildSoughtForward()
        case .answered, .callerConnected, .calleeConnected, .connected, .connectedCallerLost, .connectedCalleeLost,
            .answeredRestarted, .connectTimeout, .mediaFailed, .hangup, .connectionLost, .forgotten:
            buildAnswered()
        case .cancelled, .declined, .busy, .ringTimeout, .noDevices, .glare, .forgottenUnanswered: buildUnanswered()
        }
    }

    private func buildAsked() {
        open("A1", "A2", "B1", "B2", "C1")
        if situation == .askedAsleep { for name in ["B1", "B2"] { phone(name).ask(.close) } }
        let invite = ClientRequest.invite(
            Invite(call: call, to: .user(b1.user), sdp: RawJSON("1"), custom: RawJSON("2")))
        a1.send(invite)
        switch situation {
        case .askedAgain:
            a1.send(["5"], of: call)
            a1.send(invite, .get(call))
        case .askedCallerLost, .askedCallerBack:
            a1.lose()
            guard situation == .askedCallerBack else { return }
            a1.resume()
            a1.send(invite)
        case .askedSwitchedOff: world.step(.reconfigured(CoreSettings(authorization: .some(nil))))
        default: break
        }
    }

    private func buildSought() {
        open("A1", "A2", "B1", "B2")
        for name in ["B1", "B2"] { phone(name).ask(.close) }
        leaveMemory(b1.user)
        world.holdsNextLookUp = true
        a1.send(.invite(Invite(call: call, to: .user(b1.user), sdp: RawJSON("1"), custom: RawJSON("2"))))
    }

    private func buildSoughtForward() {
        open("A1", "A2", "B1", "C1")
        let carol = CallTarget.user(phone("C1").user)
        world.administer(.forward(b1.user, busy: carol, noAnswer: carol, after: nil))
        phone("C1").ask(.close)
        leaveMemory(phone("C1").user)
        inviteBob()
        b1.ring(call)
        world.holdsNextLookUp = true
        world.advance(world.timers.ring)
    }

    /// Another idle user takes the place of this one.
    private func leaveMemory(_ user: Handle) {
        world.asleep("zoe")
        world.settle()
        precondition(world.core.directory.user(user) == nil, "\(user) is in memory")
    }

    private func buildTold() {
        open("A1", "A2", "B1")
        if situation == .halfTold {
            b1.ask(.updateDevice(push: []))
            b1.lose()
            return inviteBob()
        }
        open("B2")
        if situation == .declinedOnOne {
            world.administer(.setUser(b1.user, UserPolicyChange(decline: .device)))
        }
        inviteBob()
        if situation != .told { b1.ring(call) }
        if situation == .callerLost { a1.lose() }
        if situation == .declinedOnOne { b1.decline(call) }
        if situation == .restarted || situation == .backAfterRestart { world.restart() }
        if situation == .backAfterRestart { open("A1", "B1") }
    }

    private func buildAsleep() throws {
        open("A1", "A2", "B1", "B2")
        for name in ["B1", "B2"] { phone(name).ask(.close) }
        inviteBob()
        if situation == .queued { return }
        let push = try world.transmit(call, to: b1)
        switch situation {
        case .sent: return
        case .unknown: return world.settle(push, .unknown(reason: "timeout"))
        case .rejected: return world.settle(push, .rejected(reason: "Unregistered", isTokenDead: true))
        case .wokenForAnother:
            world.settle(push, .accepted)
            let other = phone("S").call(b1)
            b1.wake(other)
        case .reported:
            world.settle(push, .accepted)
            let report = PushReport(push: push, call: call, result: .reported)
            _ = world.ask(.report(report), as: b1.user, device: b1.id, scope: .call(call))
        default:
            world.settle(push, .accepted)
            if situation == .wokenTooLate { a1.hangUp(call) }
            b1.wake(call)
            if situation == .wokenAnswered { b1.answer(call, sdp: "3") }
        }
    }

    private func buildSeveral() {
        open("A1", "A2")
        guard situation != .selfCall else { return invite(.user(a1.user)) }
        open("B1", "B2", "C1")
        let members = [b1.user, phone("C1").user]
        if situation == .hunt || situation == .huntLast {
            world.administer(.setGroup(CallGroup(name: "desk", strategy: .hunt, members: members)))
            invite(.group("desk"))
            b1.ring(call)
            if situation == .huntLast { world.advance(world.timers.huntStep) }
        } else {
            invite(.users(members))
            b1.ring(call)
            if situation == .listDeclined { b1.decline(call) }
        }
    }

    private func buildForwarding() {
        open("A1", "A2", "B1", "B2", "C1")
        let carol = CallTarget.user(phone("C1").user)
        world.administer(.forward(b1.user, busy: carol, noAnswer: carol, after: nil))
        inviteBob()
        b1.ring(call)
        if situation == .forwarded { world.advance(world.timers.ring) }
    }

    private func buildAnswered() {
        open("A1", "A2", "B1", "B2")
        inviteBob()
        b1.answer(call, sdp: "3")
        switch situation {
        case .callerConnected: a1.connected(call)
        case .calleeConnected: b1.connected(call)
        case .connectTimeout: world.advance(world.timers.connect)
        case .mediaFailed: a1.hangUp(call, .mediaFailed)
        case .answeredRestarted: world.restart()
        case .connected, .connectedCallerLost, .connectedCalleeLost, .hangup, .connectionLost, .forgotten:
            a1.connected(call)
            b1.connected(call)
        default: break
        }
        switch situation {
        case .connectedCallerLost: a1.lose()
        case .connectedCalleeLost: b1.lose()
        case .hangup, .forgotten: b1.hangUp(call)
        case .connectionLost:
            b1.lose()
            world.advance(world.timers.resume)
            b1.open()
        default: break
        }
        if situation == .forgotten { world.advance(world.timers.tombstone) }
    }

    private func buildUnanswered() {
        open("A1", "A2", "B1", "B2")
        if situation == .glare {
            let calls = [world.newCall(), call].sorted()
            call = calls[1]
            inviteBob()
            b1.call(.user(a1.user), id: calls[0])
            return
        }
        inviteBob()
        if situation != .noDevices { b1.ring(call) }
        switch situation {
        case .declined: b1.decline(call, .dnd)
        case .busy: for name in ["B1", "B2"] { phone(name).decline(call, .busy) }
        case .ringTimeout: world.advance(world.timers.ring)
        case .noDevices:
            for name in ["B1", "B2"] { phone(name).ask(.logout) }
            open("B1", "B2")
        default: a1.hangUp(call)
        }
        if situation == .forgottenUnanswered { world.advance(world.timers.tombstone) }
    }
}
