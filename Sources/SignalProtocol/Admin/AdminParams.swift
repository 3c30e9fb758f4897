import CallVocabulary

/// The `params` of each method that administrators call.
extension FieldReader {
    func request(of method: AdminMethod) throws(FieldFailure) -> AdminRequest {
        switch method {
        case .groupList: .command(.listGroups, after: try optionalHandle("after")?.text)
        case .groupGet: .command(.showGroup(try handle("name").text))
        case .groupSet: .command(.setGroup(try group()))
        case .groupDelete: .command(.deleteGroup(try handle("name").text))
        case .userGet: .command(.showUser(try handle("user")))
        case .userSet: .command(.setUser(try handle("user"), try policyChange()))
        case .aliasList: .command(.listAliases, after: try optionalHandle("after")?.text)
        case .aliasSet: .command(.setAlias(try alias()))
        case .aliasDelete: .command(.deleteAlias(try handle("alias")))
        case .deviceResume: .command(.resumeDevice(try handle("user"), try identifier("device_id")))
        }
    }

    private func policyChange() throws(FieldFailure) -> UserPolicyChange {
        let change = UserPolicyChange(
            callWaiting: try bool("call_waiting"), decline: try optionalChoice("decline_policy"),
            doNotDisturb: try bool("do_not_disturb"), missedCalls: try optionalChoice("missed_calls"))
        guard change != UserPolicyChange() else {
            throw FieldFailure(
                path: "call_waiting", problem: .missing,
                expected: "at least one of call_waiting, decline_policy, do_not_disturb, missed_calls")
        }
        return change
    }

    func group() throws(FieldFailure) -> CallGroup {
        CallGroup(
            name: try handle("name").text, strategy: try choice("strategy"),
            members: try handles("members", upTo: CallGroup.mostMembers))
    }

    func alias() throws(FieldFailure) -> Alias {
        Alias(handle: try handle("alias"), user: try handle("user"))
    }

    func handles(_ name: StaticString, upTo limit: Int = .max) throws(FieldFailure) -> [Handle] {
        try array(name, upTo: limit, of: Self.handle) { $0.string.flatMap { Handle($0) } }
    }

    func optionalHandle(_ name: StaticString) throws(FieldFailure) -> Handle? {
        try optional(name, Self.handle) { $0.string.flatMap { Handle($0) } }
    }
}
