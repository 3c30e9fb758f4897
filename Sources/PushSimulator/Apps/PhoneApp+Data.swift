import FoundationEssentials

// Reads FCM's data as each plugin does on Android. A plugin that leaves this to the app is read by the code of its
// example; without an example, by the keys of its iOS part.

extension PhoneApp {
    static func readCallkitIncoming(_ data: [String: String]) -> Reading {
        guard let id = data["id"], !id.isEmpty else { return .crash(reason: "id is missing: Dart type error") }
        for key in ["type", "duration"] {
            if let text = data[key], Int(text) == nil {
                return .crash(reason: "\(key) is not a number: Dart format error")
            }
        }
        guard let name = data["nameCaller"], !name.isEmpty else {
            return .crash(reason: "nameCaller is missing: CallStyle takes no person without a name")
        }
        return .shown(
            ShownCall(
                uuid: id, call: id, handle: data["handle"] ?? "", name: name,
                video: data["type"].flatMap { Int($0) } ?? 0 > 0))
    }

    static func readCallkeepReactNative(_ data: [String: String]) -> Reading {
        for key in ["uuid", "handle"] where data[key] == nil {
            return .crash(reason: "\(key) is missing: NullPointerException in displayIncomingCall")
        }
        return .shown(
            ShownCall(
                uuid: data["uuid"], call: data["uuid"], handle: data["handle"] ?? "", name: data["callerName"],
                video: data["hasVideo"] == "true"))
    }

    static func readCallkeepFlutter(_ data: [String: String]) -> Reading {
        var data = data
        if let content = data["content"] {
            let payload = PhoneLinkMessages.decode(JSONValue.self, from: Array(content.utf8))?.members?["payload"]
            guard let members = payload?.members else {
                return .crash(reason: "content has no object payload: Dart type error")
            }
            data.merge(members.compactMapValues(\.text)) { _, new in new }
        }
        guard let name = data["caller_name"] else { return .crash(reason: "caller_name is missing: Dart type error") }
        return .shown(
            ShownCall(
                uuid: data["uuid"], call: data["uuid"], handle: data["caller_id"] ?? "No Sender Id", name: name,
                video: data["has_video"] == "true",
                remark: data["uuid"] == nil ? "uuid is missing: the example generates one" : nil))
    }

    static func readConnectycube(_ data: [String: String]) -> Reading {
        guard data["signal_type"] == "startCall" else { return .nothing(reason: "signal_type is not startCall") }
        for key in ["session_id", "call_type", "caller_id", "caller_name", "call_opponents"] where data[key] == nil {
            return .nothing(reason: "\(key) is missing")
        }
        for key in ["call_type", "caller_id"] where data[key].flatMap({ Int32($0) }) == nil {
            return .crash(reason: "\(key) is not a number of 32 bits: NumberFormatException")
        }
        let opponents = (data["call_opponents"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
        guard opponents.allSatisfy({ Int32($0) != nil }) else {
            return .crash(reason: "call_opponents is not a list of numbers: NumberFormatException")
        }
        return .shown(
            ShownCall(
                uuid: data["session_id"], call: data["session_id"], handle: data["caller_id"] ?? "",
                name: data["caller_name"], video: data["call_type"] == "1"))
    }

    static func readLinphone(_ data: [String: String]) -> Reading {
        guard let call = data["call-id"], !call.isEmpty else {
            return .nothing(reason: "call-id is missing: the SDK does not process the push")
        }
        return .shown(
            ShownCall(
                uuid: nil, call: call, handle: "Calling", name: nil, video: false,
                remark: "the push only wakes the SDK; the SIP INVITE shows the call"))
    }
}
