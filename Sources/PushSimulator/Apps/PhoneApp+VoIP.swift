import FoundationEssentials

// How each plugin parses the dictionary of a VoIP push. A value of an unexpected type has the effect of the plugin's
// language: a conditional cast yields the default; a forced cast or an unknown selector crashes the app.

extension PhoneApp {
    static func readCallkitIncoming(_ payload: [String: JSONValue]) -> Reading {
        guard let id = payload["id"]?.text, UUID(uuidString: id) != nil else {
            return .nothing(reason: "id is missing, or is not a UUID: the plugin ignores the push")
        }
        let name = payload["nameCaller"]?.text ?? ""
        let hasEncodedHandle = payload["extra"] != nil && payload["normalHandle"]?.castInt ?? 0 <= 0
        let remark =
            name.isEmpty
            ? "the screen shows no name: nameCaller is missing"
            : hasEncodedHandle ? "with Data(args:) the handle in Recents contains extra: normalHandle is not 1" : nil
        return .shown(
            ShownCall(
                uuid: id, call: id, handle: payload["handle"]?.text ?? "", name: name,
                video: payload["isVideo"]?.castBool ?? false, remark: remark))
    }

    static func readCallkeepReactNative(_ payload: [String: JSONValue]) -> Reading {
        guard let value = payload["uuid"] else {
            return .crash(reason: "uuid is missing: addCompletionHandler raises 'key cannot be nil'")
        }
        guard let uuid = value.text else { return .crash(reason: "uuid is not a string: unrecognized selector") }
        guard let handle = payload["handle"]?.text else {
            return .crash(reason: "handle is missing, or is not a string: CXHandle takes no nil value")
        }
        guard UUID(uuidString: uuid) != nil else {
            return .crash(reason: "uuid is not a UUID: CXProvider takes no nil UUID")
        }
        let name = payload["callerName"]?.text
        return .shown(
            ShownCall(
                uuid: uuid, call: uuid, handle: handle, name: "\(name ?? "(null)") (Connecting...)", video: false,
                remark: "the sample reports each call as audio, and adds (Connecting...) to the name"))
    }

    static func readCallkeepFlutter(_ payload: [String: JSONValue]) -> Reading {
        guard payload["aps"] == nil else {
            return .nothing(reason: "aps is present: the plugin reports nothing ('do not use the alert format')")
        }
        guard let handle = payload["caller_id"]?.text else {
            return .crash(reason: "caller_id is missing, or is not a string: CXHandle takes no nil value")
        }
        for key in ["uuid", "caller_name", "caller_id_type"] {
            if let value = payload[key], value.text == nil {
                return .crash(reason: "\(key) is not a string: unrecognized selector")
            }
        }
        let uuid = payload["uuid"]?.text
        if let uuid, UUID(uuidString: uuid) == nil {
            return .crash(reason: "uuid is not a UUID: CXProvider takes no nil UUID")
        }
        guard let video = payload["has_video"].map(\.objcBool) ?? false else {
            return .crash(reason: "has_video is an object or array: unrecognized selector")
        }
        return .shown(
            ShownCall(
                uuid: uuid, call: uuid, handle: handle, name: payload["caller_name"]?.text, video: video,
                remark: uuid == nil ? "uuid is missing: the plugin generates one that the server does not know" : nil))
    }

    static func readConnectycube(_ payload: [String: JSONValue]) -> Reading {
        guard let session = payload["session_id"]?.text else {
            return .crash(reason: "session_id is missing, or is not a string: forced cast")
        }
        switch payload["signal_type"]?.text {
        case "startCall": break
        case "endCall", "rejectCall": return .nothing(reason: "signal_type only ends a call")
        default: return .nothing(reason: "signal_type is not startCall")
        }
        for key in ["call_type", "caller_id"] where payload[key]?.castInt == nil {
            return .crash(reason: "\(key) is missing, or is not a number: forced cast")
        }
        for key in ["caller_name", "call_opponents"] where payload[key]?.text == nil {
            return .crash(reason: "\(key) is missing, or is not a string: forced cast")
        }
        guard UUID(uuidString: session) != nil else { return .crash(reason: "session_id is not a UUID: forced unwrap") }
        return .shown(
            ShownCall(
                uuid: session.lowercased(), call: session, handle: session.lowercased(),
                name: payload["caller_name"]?.text, video: payload["call_type"]?.castInt == 1,
                remark: "the plugin uses the call's UUID as the handle"))
    }

    static func readLinphone(_ payload: [String: JSONValue]) -> Reading {
        var call: String?
        if let aps = payload["aps"] {
            guard let members = aps.members else {
                return .crash(reason: "aps is not an object: unrecognized selector")
            }
            if let id = members["call-id"] {
                guard let text = id.text else {
                    return .crash(reason: "aps.call-id is not a string: unrecognized selector")
                }
                call = text
            }
        }
        return .shown(
            ShownCall(
                uuid: nil, call: call, handle: "Calling", name: "Calling", video: false,
                remark: call == nil
                    ? "aps.call-id is missing: no SIP INVITE can match the call"
                    : "the SDK generates the UUID; the caller's name comes with the SIP INVITE"))
    }
}

extension JSONValue {
    /// Swift's `as? Bool`.
    fileprivate var castBool: Bool? {
        switch self {
        case .bool(let truth): truth
        case .number(1): true
        case .number(0): false
        case .null, .number, .string, .array, .object: nil
        }
    }

    /// Swift's `as? Int`.
    fileprivate var castInt: Int? {
        switch self {
        case .bool(let truth): truth ? 1 : 0
        case .number(let number): Int(exactly: number)
        case .null, .string, .array, .object: nil
        }
    }

    /// Objective-C's `boolValue` of a string or number; nil for other objects, which do not have it.
    fileprivate var objcBool: Bool? {
        switch self {
        case .bool(let truth): truth
        case .number(let number): number != 0
        case .string(let text):
            text.drop { $0 == " " || $0 == "+" || $0 == "-" || $0 == "0" }.first.map { "YyTt123456789".contains($0) }
                ?? false
        case .null, .array, .object: nil
        }
    }
}
