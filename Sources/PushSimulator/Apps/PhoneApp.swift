import FoundationEssentials

/// A kind of app, by the code that reads its pushes. Each is held to the rules of that code as its source has them, at
/// the version named.
public enum PhoneApp: String, Sendable, CaseIterable {
    /// An app made with the payloads of this project.
    case reveille
    /// flutter_callkit_incoming 3.1.5, with the AppDelegate of its example.
    case callkitIncoming = "callkit_incoming"
    /// react-native-voip-push-notification 3.3.2 with react-native-callkeep 4.3.16, by the sample of the first.
    case callkeepReactNative = "callkeep_react_native"
    /// flutter-webrtc/callkeep 0.4.1, with its example on Android.
    case callkeepFlutter = "callkeep_flutter"
    /// connectycube_flutter_call_kit 2.8.2.
    case connectycube
    /// The Linphone SDK 5.4 with linphone-iphone, or linphone-android.
    case linphone

    /// What the app does with a payload, on an iPhone or on Android.
    public enum Reading: Equatable, Sendable {
        case shown(ShownCall)
        /// The app goes on and reports nothing; iOS terminates it.
        case nothing(reason: String)
        /// The app crashes before it reports.
        case crash(reason: String)
    }

    /// A call as the system shows it.
    public struct ShownCall: Equatable, Sendable {
        /// The UUID that the system is told; nil for one that the app makes up.
        public var uuid: String?
        /// The call's id, as far as the payload tells.
        public var call: String?
        public var handle: String
        public var name: String?
        public var video: Bool
        /// What the app adds beyond the payload, or loses of it.
        public var remark: String?
    }

    /// Reads the payload of a VoIP push, or FCM's data.
    /// - Parameter payload: JSON: the body of APNs, or the message with its `data`, or the data alone.
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
    /// The reading in one sentence without a full stop.
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
    /// A number or boolean as text.
    fileprivate var plain: String {
        switch self {
        case .bool(let truth): truth ? "true" : "false"
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .null, .string, .array, .object: ""
        }
    }
}
