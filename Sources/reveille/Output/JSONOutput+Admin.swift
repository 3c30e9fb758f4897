import CallVocabulary

/// With the keys of the admin API.
extension JSONOutput {
    static func group(_ group: CallGroup) -> [String: Any] {
        ["name": group.name, "strategy": group.strategy.rawValue, "members": group.members.map(\.text)]
    }

    static func alias(_ alias: Alias) -> [String: Any] {
        ["alias": alias.handle.text, "user": alias.user.text]
    }

    static func user(_ user: UserView) -> [String: Any] {
        [
            "handle": user.handle.text, "call_waiting": user.policy.callWaiting,
            "decline_policy": user.policy.decline.rawValue, "do_not_disturb": user.policy.doNotDisturb,
            "missed_calls": user.policy.missedCalls.rawValue, "aliases": user.aliases.map(\.text),
            "groups": user.groups, "devices": user.devices,
            "devices_online": user.devicesOnline, "live_calls": user.liveCalls,
        ]
    }
}
