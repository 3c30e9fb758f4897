import CallVocabulary

/// A request that changes state. The server logs each with its peer, parameters and result.
public protocol AdminChange: AdminRequest {
    /// The parameters for the audit log, in order. They contain no secrets.
    var audited: [(name: String, value: AuditedValue)] { get }
    /// False for a request that only reads.
    var isChange: Bool { get }
}

extension AdminChange {
    public var isChange: Bool { true }
}

/// A parameter in the audit log.
public enum AuditedValue: Equatable, Sendable {
    case text(String)
    case number(Int64)
    case flag(Bool)
    /// A list. Only its first entries are logged.
    case texts([String])
}

extension AdminMethod {
    public enum Effect: Sendable {
        case reads
        case changes(any AdminChange.Type)
    }

    /// Whether the method changes state, and the request type for it.
    public var effect: Effect {
        switch self {
        case .callEnd: .changes(EndCall.self)
        case .sessionDrop: .changes(DropSession.self)
        case .deviceResume: .changes(ResumeDevice.self)
        case .deviceDelete: .changes(DeleteDevice.self)
        case .userSet: .changes(SetUser.self)
        case .userBlock: .changes(BlockCallers.self)
        case .userUnblock: .changes(UnblockCallers.self)
        case .userForward: .changes(ForwardCalls.self)
        case .userRevoke: .changes(RevokeTokens.self)
        case .groupSet: .changes(SetGroup.self)
        case .groupDelete: .changes(DeleteGroup.self)
        case .aliasSet: .changes(SetAlias.self)
        case .aliasDelete: .changes(DeleteAlias.self)
        case .webhookPause: .changes(PauseWebhook.self)
        case .webhookResume: .changes(ResumeWebhook.self)
        case .webhookReplay: .changes(ReplayWebhook.self)
        case .webhookTest: .changes(TestWebhook.self)
        case .serverDrain: .changes(Drain.self)
        case .serverStop: .changes(StopServer.self)
        case .logSet: .changes(SetLogLevel.self)
        case .callList, .callGet, .callSubscribe, .sessionList, .deviceList, .deviceGet, .pushList, .pushGet,
            .pushAudit, .userGet, .groupList, .groupGet, .aliasList, .webhookList, .statsGet, .statsSubscribe,
            .serverInfo,
            .unsubscribe:
            .reads
        }
    }
}

// MARK: Audited parameters of each change

extension EndCall: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [("call_id", .text(callID.description))] }
}

extension DropSession: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("user", .text(user.text)), ("device_id", .text(deviceID.description))]
    }
}

extension ResumeDevice: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("user", .text(user.text)), ("device_id", .text(deviceID.description))]
    }
}

extension DeleteDevice: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("user", .text(user.text)), ("device_id", .text(deviceID.description))]
    }
}

extension SetUser: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        var parameters: [(name: String, value: AuditedValue)] = [("user", .text(user.text))]
        if let callWaiting { parameters.append(("call_waiting", .flag(callWaiting))) }
        if let declinePolicy { parameters.append(("decline_policy", .text(declinePolicy.rawValue))) }
        if let doNotDisturb { parameters.append(("do_not_disturb", .flag(doNotDisturb))) }
        if let missedCalls { parameters.append(("missed_calls", .text(missedCalls.rawValue))) }
        return parameters
    }
}

extension BlockCallers: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("user", .text(user.text)), ("callers", .texts(callers.map(\.text)))]
    }
}

extension UnblockCallers: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("user", .text(user.text)), ("callers", .texts(callers.map(\.text)))]
    }
}

extension ForwardCalls: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [
            ("user", .text(user.text)), ("busy", .text(busy?.audited ?? "off")),
            ("no_answer", .text(noAnswer?.audited ?? "off")),
        ] + (noAnswerSeconds.map { [("no_answer_seconds", .number(Int64($0)))] } ?? [])
    }
}

extension RevokeTokens: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("user", .text(user.text))] + (beforeMilliseconds.map { [("before_ms", .number($0))] } ?? [])
    }
}

extension TargetView {
    fileprivate var audited: String {
        switch target {
        case .user(let handle): handle.text
        case .users(let handles): handles.map(\.text).joined(separator: ",")
        case .group(let name): "group:\(name)"
        }
    }
}

extension SetGroup: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [
            ("name", .text(name.text)), ("strategy", .text(strategy.rawValue)),
            ("members", .texts(members.map(\.text))),
        ] + (delays.map { [("delays", .texts($0.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }))] } ?? [])
    }
}

extension DeleteGroup: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [("name", .text(name.text))] }
}

extension SetAlias: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("alias", .text(alias.text)), ("user", .text(user.text))]
    }
}

extension DeleteAlias: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [("alias", .text(alias.text))] }
}

extension PauseWebhook: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [("name", .text(name))] }
}

extension ResumeWebhook: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [("name", .text(name))] }
}

extension ReplayWebhook: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("name", .text(name)), ("since_ms", .number(sinceMilliseconds))]
    }
}

extension TestWebhook: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [("name", .text(name))] }
}

extension Drain: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] {
        [("deadline_ms", .number(Int64(deadlineMilliseconds)))]
    }
}

extension StopServer: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { [] }
}

extension SetLogLevel: AdminChange {
    public var audited: [(name: String, value: AuditedValue)] { level.map { [("level", .text($0))] } ?? [] }
    public var isChange: Bool { level != nil }
}
