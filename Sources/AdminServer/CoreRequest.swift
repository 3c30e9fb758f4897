import AdminProtocol
import CallCore
import CallVocabulary

/// A request that the core answers.
protocol CoreRequest: AdminRequest {
    /// - Throws: `AdminRefusal` for parameters that contradict each other.
    func command() throws(AdminRefusal) -> AdminCommand
    /// Converts the core's answer; nil for an answer to another request.
    func response(_ reply: AdminReply) -> Response?
}

extension CoreRequest where Response == Done {
    func response(_ reply: AdminReply) -> Done? { reply == .done ? Done() : nil }
}

extension EndCall: CoreRequest {
    func command() -> AdminCommand { .endCall(callID) }
}

extension DropSession: CoreRequest {
    func command() -> AdminCommand { .dropSession(user, deviceID) }
}

extension ResumeDevice: CoreRequest {
    func command() -> AdminCommand { .resumeDevice(user, deviceID) }
}

extension DeleteDevice: CoreRequest {
    func command() -> AdminCommand { .deleteDevice(user, deviceID) }
}

extension GetUser: CoreRequest {
    func command() -> AdminCommand { .showUser(user) }

    func response(_ reply: AdminReply) -> UserView? {
        guard case .user(let user) = reply else { return nil }
        return UserView(user)
    }
}

extension SetUser: CoreRequest {
    func command() throws(AdminRefusal) -> AdminCommand {
        guard change != UserPolicyChange() else {
            throw AdminRefusal(
                .invalidParams,
                "params: expected at least one of call_waiting, decline_policy, do_not_disturb, missed_calls")
        }
        return .setUser(user, change)
    }
}

extension BlockCallers: CoreRequest {
    func command() throws(AdminRefusal) -> AdminCommand { .block(user, try callers.checked()) }
}

extension UnblockCallers: CoreRequest {
    func command() throws(AdminRefusal) -> AdminCommand { .unblock(user, try callers.checked()) }
}

extension [Handle] {
    /// The callers of one request.
    fileprivate func checked() throws(AdminRefusal) -> Self {
        guard (1...CallRules.mostBlocked).contains(count) else {
            throw AdminRefusal(.invalidParams, "params.callers: expected 1 to \(CallRules.mostBlocked) handles")
        }
        return self
    }
}

extension ForwardCalls: CoreRequest {
    func command() -> AdminCommand {
        .forward(
            user, busy: busy?.target, noAnswer: noAnswer?.target, after: noAnswerSeconds.map { .seconds($0) })
    }
}

extension RevokeTokens: CoreRequest {
    func command() throws(AdminRefusal) -> AdminCommand {
        let latest = Instant.latest.milliseconds
        if let beforeMilliseconds, !(0...latest).contains(beforeMilliseconds) {
            throw AdminRefusal(.invalidParams, "params.before_ms: expected 0 to \(latest)")
        }
        return .revokeTokens(user, before: beforeMilliseconds.map { Instant(milliseconds: $0) })
    }
}

extension GetGroup: CoreRequest {
    func command() -> AdminCommand { .showGroup(name.text) }

    func response(_ reply: AdminReply) -> GroupView? {
        guard case .group(let group) = reply else { return nil }
        return GroupView(group)
    }
}

extension SetGroup: CoreRequest {
    func command() throws(AdminRefusal) -> AdminCommand {
        guard members.count <= CallGroup.mostMembers else {
            throw AdminRefusal(
                .invalidParams, "params.members: expected at most \(CallGroup.mostMembers), not \(members.count)")
        }
        var times: [Handle: Duration] = [:]
        if let delays {
            // Members that differ in their bytes can be equal texts, and these name the delays.
            let count = Dictionary(Set(members).map { ($0.text, 1) }, uniquingKeysWith: +)
            for (name, seconds) in delays {
                guard let member = Handle(known: name) else {
                    throw AdminRefusal(.invalidParams, "params.delays: expected members as names")
                }
                guard count[name] ?? 1 == 1 else {
                    throw AdminRefusal(
                        .invalidParams,
                        "params.delays: \(name) is two members, in two forms of Unicode: neither can have a delay")
                }
                times[member] = .seconds(seconds)
            }
        }
        return .setGroup(CallGroup(name: name.text, strategy: strategy, members: members, delays: times))
    }
}

extension DeleteGroup: CoreRequest {
    func command() -> AdminCommand { .deleteGroup(name.text) }
}

extension SetAlias: CoreRequest {
    func command() -> AdminCommand { .setAlias(Alias(handle: alias, user: user)) }
}

extension DeleteAlias: CoreRequest {
    func command() -> AdminCommand { .deleteAlias(alias) }
}
