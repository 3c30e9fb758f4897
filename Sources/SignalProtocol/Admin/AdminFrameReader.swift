import CallVocabulary

/// Reads what the server says to an administrator's client.
struct AdminFrameReader {
    /// nil for a notification: this version knows none.
    func answer(_ envelope: Envelope) throws(SignalError) -> AdminAnswer? {
        guard envelope.isVersion2 else { throw SignalError(.invalidRequest, "jsonrpc: expected \"2.0\"") }
        if envelope.method != nil { return nil }
        if let error = envelope.error {
            guard error.kind == .object else { throw SignalError(.invalidRequest, "error: expected an object") }
            return failure(FieldReader(JSONObject(error)), of: envelope.requestID)
        }
        guard let result = envelope.result, result.kind == .object else {
            throw SignalError(.invalidRequest, "expected a method, an error or an object as result")
        }
        guard let id = envelope.requestID else {
            throw SignalError(.invalidRequest, "id: a result needs that of its request")
        }
        do throws(FieldFailure) {
            let result = FieldReader(JSONObject(result))
            return .reply(id, try reply(result), next: try result.optionalHandle("next")?.text)
        } catch {
            throw error.error(in: "result")
        }
    }

    private func failure(_ error: FieldReader, of id: RequestID?) -> AdminAnswer {
        let data = error.object["data"].flatMap { $0.kind == .object ? JSONObject($0) : nil }
        let code = data?["code"]?.string.flatMap { AdminRefusal.Code(rawValue: $0) }
        guard let id, let code else { return .error(id, ServerFrameReader(receivedAt: nil).error(error)) }
        return .refusal(id, AdminRefusal(code, error.object["message"]?.string ?? ""))
    }

    private func reply(_ result: FieldReader) throws(FieldFailure) -> AdminReply {
        if let groups = try objects(
            result, "groups", of: "a group", { (group) throws(FieldFailure) in try group.group() })
        {
            return .groups(groups)
        }
        if let aliases = try objects(
            result, "aliases", of: "an alias", { (alias) throws(FieldFailure) in try alias.alias() })
        {
            return .aliases(aliases)
        }
        if let group = try result.optionalObject("group", { (group) throws(FieldFailure) in try group.group() }) {
            return .group(group)
        }
        if let user = try result.optionalObject("user", { (user) throws(FieldFailure) in try userView(user) }) {
            return .user(user)
        }
        return .done
    }

    private func objects<Value>(
        _ result: FieldReader, _ name: StaticString, of expected: String,
        _ read: (FieldReader) throws(FieldFailure) -> Value
    ) throws(FieldFailure) -> [Value]? {
        try result.optionalArray(name, of: expected) { (value) throws(FieldFailure) -> Value? in
            guard value.kind == .object else { return nil }
            return try read(FieldReader(JSONObject(value)))
        }
    }

    private func userView(_ user: FieldReader) throws(FieldFailure) -> UserView {
        var policy = UserPolicy()
        policy.callWaiting = try user.required("call_waiting", "true or false") { $0.bool }
        policy.decline = try user.choice("decline_policy")
        policy.doNotDisturb = try user.required("do_not_disturb", "true or false") { $0.bool }
        policy.missedCalls = try user.choice("missed_calls")
        return UserView(
            handle: try user.handle("handle"), policy: policy, aliases: try user.handles("aliases"),
            groups: try user.handles("groups").map(\.text), devices: try user.integer("devices", in: 0...Int.max),
            devicesOnline: try user.integer("devices_online", in: 0...Int.max),
            liveCalls: try user.integer("live_calls", in: 0...Int.max))
    }
}
