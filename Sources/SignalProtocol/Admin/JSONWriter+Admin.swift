import CallVocabulary

extension JSONWriter {
    mutating func members(_ command: AdminCommand) {
        switch command {
        case .listGroups, .listAliases: break
        case .showGroup(let name), .deleteGroup(let name): field("name", name)
        case .setGroup(let group): members(group)
        case .showUser(let user): field("user", user)
        case .setUser(let user, let change):
            field("user", user)
            field("call_waiting", change.callWaiting)
            field("decline_policy", change.decline?.rawValue)
            field("do_not_disturb", change.doNotDisturb)
            field("missed_calls", change.missedCalls?.rawValue)
        case .setAlias(let alias): members(alias)
        case .deleteAlias(let alias): field("alias", alias)
        case .resumeDevice(let user, let device):
            field("user", user)
            field("device_id", device)
        }
    }

    mutating func members(_ reply: AdminReply) {
        switch reply {
        case .done: break
        case .groups(let groups):
            field("groups") { json in
                json.array { json in
                    for group in groups { json.object { $0.members(group) } }
                }
            }
        case .group(let group): field("group") { json in json.object { $0.members(group) } }
        case .user(let user): field("user") { json in json.object { $0.members(user) } }
        case .aliases(let aliases):
            field("aliases") { json in
                json.array { json in
                    for alias in aliases { json.object { $0.members(alias) } }
                }
            }
        }
    }

    mutating func value(_ refusal: AdminRefusal) {
        object { json in
            json.field("code", refusal.code.number)
            json.field("message", refusal.message)
            json.field("data") { json in
                json.object { $0.field("code", refusal.code.rawValue) }
            }
        }
    }

    private mutating func members(_ group: CallGroup) {
        field("name", group.name)
        field("strategy", group.strategy.rawValue)
        field("members", group.members)
    }

    private mutating func members(_ alias: Alias) {
        field("alias", alias.handle)
        field("user", alias.user)
    }

    private mutating func members(_ user: UserView) {
        field("handle", user.handle)
        field("call_waiting", user.policy.callWaiting)
        field("decline_policy", user.policy.decline.rawValue)
        field("do_not_disturb", user.policy.doNotDisturb)
        field("missed_calls", user.policy.missedCalls.rawValue)
        field("aliases", user.aliases)
        field("groups") { json in
            json.array { json in
                for group in user.groups { json.string(group) }
            }
        }
        field("devices", user.devices)
        field("devices_online", user.devicesOnline)
        field("live_calls", user.liveCalls)
    }

    private mutating func field(_ name: StaticString, _ handles: [Handle]) {
        field(name) { json in
            json.array { json in
                for handle in handles { json.string(handle.text) }
            }
        }
    }
}

extension AdminRefusal.Code {
    /// The JSON-RPC `code`.
    public var number: Int {
        switch self {
        case .notFound: SignalError.Code.notFound.number
        case .conflict: SignalError.Code.conflict.number
        case .invalidParams: SignalError.Code.invalidParams.number
        case .limitReached: SignalError.Code.limitReached(limit: 0).number
        }
    }
}
