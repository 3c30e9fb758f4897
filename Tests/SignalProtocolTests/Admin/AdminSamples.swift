import CallVocabulary
import SignalProtocol

/// One of everything that goes over the wire of the admin API.
enum AdminSamples {
    static let sales = CallGroup(name: "sales", strategy: .hunt, members: [Samples.alice, Samples.phone])
    static let alias = Alias(handle: Samples.phone, user: Samples.alice)

    static let commands: [AdminCommand] =
        [
            .listGroups, .showGroup("sales"), .setGroup(sales),
            .setGroup(CallGroup(name: "\"\\ä", strategy: .all, members: [])), .deleteGroup("sales"),
            .showUser(Samples.phone), .listAliases, .setAlias(alias), .deleteAlias(Samples.phone),
            .resumeDevice(Samples.alice, DeviceID(high: 1, low: 2)),
            .setUser(Samples.alice, UserPolicyChange(callWaiting: false)),
            .setUser(Samples.alice, UserPolicyChange(doNotDisturb: true)),
            .setUser(
                Samples.alice,
                UserPolicyChange(callWaiting: true, decline: .all, doNotDisturb: false, missedCalls: .background)),
        ] + MissedCallPush.allCases.map { .setUser(Samples.alice, UserPolicyChange(missedCalls: $0)) }
        + DeclinePolicy.allCases.map { .setUser(Samples.alice, UserPolicyChange(decline: $0)) }

    static let user: UserView = {
        var policy = UserPolicy()
        policy.callWaiting = false
        policy.decline = .device
        policy.doNotDisturb = true
        policy.missedCalls = .alert
        return UserView(
            handle: Samples.alice, policy: policy, aliases: [Samples.phone], groups: ["sales", "\"\\ä"], devices: 3,
            devicesOnline: 2, liveCalls: 1)
    }()

    static let replies: [AdminReply] = [
        .done, .groups([]), .groups([sales, CallGroup(name: "a", strategy: .all, members: [])]), .group(sales),
        .user(user),
        .user(
            UserView(
                handle: Samples.phone, policy: UserPolicy(), aliases: [], groups: [], devices: 0, devicesOnline: 0,
                liveCalls: 0)), .aliases([]), .aliases([alias, Alias(handle: Samples.alice, user: Samples.phone)]),
    ]

    static let answers: [AdminAnswer] =
        replies.map { .reply(.number(1), $0) }
        + [.reply(.string("x"), .groups([sales]), next: "sales"), .error(nil, SignalError(.parseError, "m"))]
        + AdminRefusal.Code.allCases.map { .refusal(.number(.max), AdminRefusal($0, "There is no \"x\".\n")) }
        + [
            .parseError, .invalidRequest, .methodNotFound, .internalError, .tooLarge(limit: 7),
            .overloaded(retryAfter: .seconds(1)),
        ].map { .error(.number(2), SignalError($0, "m")) }
}
