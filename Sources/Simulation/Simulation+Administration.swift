import CallCore
import CallVocabulary

/// The commands of administrators.
extension Simulation {
    /// Sets groups, aliases and policies before the first call.
    func administer(_ process: ServerProcess) {
        var commands: [AdminCommand] = [
            .setGroup(group("team", .all)),
            .setGroup(group("desk", .hunt)),
        ]
        if let alias = Handle("+81312345678") { commands.append(.setAlias(Alias(handle: alias, user: pick(handles)))) }
        for handle in handles where chance(400) { commands.append(.setUser(handle, change())) }
        for handle in handles where chance(200) { commands.append(rules(of: handle)) }
        for command in commands { post(.administered(admin(), command), to: process) }
    }

    func administerSomething() {
        guard let process else { return }
        let command: AdminCommand
        switch draw(0...17) {
        case 0, 3: command = .setGroup(group("desk", .hunt))
        case 1: command = .setGroup(group("team", pick([.all, .hunt])))
        case 2: command = .deleteGroup(pick(["team", "gone"]))
        case 4, 5: command = .showUser(pick(handles))
        case 6: command = .setAlias(Alias(handle: Handle("+81312345678")!, user: pick(handles)))
        case 7: command = .deleteAlias(Handle("+81312345678")!)  // The literal is a handle.
        case 8, 9, 10: command = rules(of: pick(handles))
        case 11:
            let device = pick(phones).key
            command = .resumeDevice(device.user, device.device)
        case 12, 13, 14:
            let device = pick(phones).key
            command = .deleteDevice(device.user, device.device)
        case 15:
            command = .revokeTokens(
                pick(handles), before: chance(500) ? nil : now + .milliseconds(draw(-20_000...50)))
        default: command = .setUser(pick(handles), change())
        }
        post(.administered(admin(), command), to: process)
    }

    private func admin() -> AdminRequestID {
        serial += 1
        return AdminRequestID(serial: UInt64(serial))
    }

    private func rules(of handle: Handle) -> AdminCommand {
        switch draw(0...4) {
        case 0: return .block(handle, [pick(handles)])
        case 1: return .unblock(handle, [pick(handles)])
        case 2: return .forward(handle, busy: nil, noAnswer: nil, after: nil)
        default:
            func target() -> CallTarget? {
                pick([nil, .user(pick(handles)), .user(pick(handles)), .group(pick(["desk", "team"]))])
            }
            let noAnswer = target()
            let after = noAnswer == nil || chance(500) ? nil : Duration.seconds(draw(5...15))
            return .forward(handle, busy: target(), noAnswer: noAnswer, after: after)
        }
    }

    private func group(_ name: String, _ strategy: CallGroup.Strategy) -> CallGroup {
        var group = CallGroup(name: name, strategy: strategy, members: members())
        guard chance(400) else { return group }
        for member in group.members where chance(500) { group.delays[member] = .seconds(draw(0...12)) }
        return group
    }

    private func members() -> [Handle] {
        var members: [Handle] = []
        for handle in handles where chance(700) && !members.contains(handle) { members.append(handle) }
        return members.isEmpty ? [handles[0]] : members
    }

    private func change() -> UserPolicyChange {
        UserPolicyChange(
            callWaiting: chance(500) ? chance(500) : nil, decline: chance(500) ? pick([.all, .device]) : nil,
            doNotDisturb: chance(300) ? chance(500) : nil,
            missedCalls: chance(700) ? pick([.off, .alert, .background, .background]) : nil)
    }
}
