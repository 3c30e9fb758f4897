import FoundationEssentials

/// A kind of app, which determines how pushes are parsed. The rules are those of the app's source, at the given
/// version.
public enum PhoneApp: String, Sendable, CaseIterable {
    /// An app for the payloads of this project.
    case reveille
    /// flutter_callkit_incoming 3.1.5, with the AppDelegate of its example.
    case callkitIncoming = "callkit_incoming"
    /// react-native-voip-push-notification 3.3.2 with react-native-callkeep 4.3.16, following the sample of the former.
    case callkeepReactNative = "callkeep_react_native"
    /// flutter-webrtc/callkeep 0.4.1, with its example for Android.
    case callkeepFlutter = "callkeep_flutter"
    /// connectycube_flutter_call_kit 2.8.2.
    case connectycube
    /// The Linphone SDK 5.4 with linphone-iphone, or linphone-android.
    case linphone

    /// The effect of a payload on the app.
    public enum Reading: Equatable, Sendable {
        case shown(ShownCall)
        /// The app reports nothing; iOS terminates it.
        case nothing(reason: String)
        /// The app crashes before its report.
        case crash(reason: String)
    }

    /// A call as shown by the system.
    public struct ShownCall: Equatable, Sendable {
        /// The UUID reported to the system; nil for one that the app generates.
        public var uuid: String?
        /// The call's id, if the payload contains it.
        public var call: String?
        public var handle: String
        public var name: String?
        public var video: Bool
        /// What the app adds to the payload, or omits.
        public var remark: String?
    }

    /// Parses the payload of a VoIP push, or FCM's data.
    /// - Parameter payload: JSON: the body for APNs, the message with its `data`, or only the data.
    public func read(_ payload: [UInt8], isAndroid: Bool) -> Reading {
        guard let members = PhoneLinkMessages.decode(JSONValue.self, from: payload)?.members else {
            return .nothing(reason: "the payload is not a JSON object")
        }
        guard isAndroid else { return readVoIP(members) }
        let data = members["message"]?.members?["data"]?.members ?? members["data"]?.members ?? members
        if let typed = data.first(where: { $0.value.text == nil }) {
            return .nothing(reason: "FCM refuses data.\(typed.key): its values are strings")
        }
        return readData(data.compactMapValues(\.text))
    }

    private func readVoIP(_ payload: [String: JSONValue]) -> Reading {
        switch self {
        case .reveille: Self.readReveille(payload.mapValues { $0.text ?? $0.plain })
        case .callkitIncoming: Self.readCallkitIncoming(payload)
        case .callkeepReactNative: Self.readCallkeepReactNative(payload)
        case .callkeepFlutter: Self.readCallkeepFlutter(payload)
        case .connectycube: Self.readConnectycube(payload)
        case .linphone: Self.readLinphone(payload)
        }
    }

    private func readData(_ data: [String: String]) -> Reading {
        switch self {
        case .reveille: Self.readReveille(data)
        case .callkitIncoming: Self.readCallkitIncoming(data)
        case .callkeepReactNative: Self.readCallkeepReactNative(data)
        case .callkeepFlutter: Self.readCallkeepFlutter(data)
        case .connectycube: Self.readConnectycube(data)
        case .linphone: Self.readLinphone(data)
        }
    }

    private static func readReveille(_ fields: [String: String]) -> Reading {
        guard let uuid = fields["uuid"], UUID(uuidString: uuid) != nil else {
            return .nothing(reason: "uuid is missing, or is not a UUID")
        }
        guard let handle = fields["handle"], !handle.isEmpty else { return .nothing(reason: "handle is missing") }
        for name in ["push_id", "expires_at"] where fields[name] == nil {
            return .nothing(reason: "\(name) is missing")
        }
        return .shown(
            ShownCall(
                uuid: uuid, call: uuid, handle: handle, name: fields["name"], video: fields["has_video"] == "true"))
    }
}

extension PhoneApp.Reading {
    /// The effect as a sentence without a full stop.
    public var words: String {
        switch self {
        case .shown(let call):
            "shows a \(call.video ? "video call" : "call") from \(call.name ?? call.handle)"
                + (call.remark.map { " (\($0))" } ?? "")
        case .nothing(let reason): "the app reports no call: \(reason)"
        case .crash(let reason): "the app crashes: \(reason)"
        }
    }
}

extension JSONValue {
    fileprivate var plain: String {
        switch self {
        case .bool(let truth): truth ? "true" : "false"
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .null, .string, .array, .object: ""
        }
    }
}
