import CallVocabulary
import Foundation
import SoftphoneSession

/// What a push handler reports to CallKit, for any payload: the system requires a call even for an unreadable one.
public struct IncomingPush: Sendable {
    public enum HandleType: String, Sendable {
        case phone, email, generic
    }

    /// The call to report: the push's, or a new one for an unreadable push, which is ended at once. Never the `uuid` of
    /// an unreadable push: that call may be live.
    public let uuid: UUID
    /// Never empty: an empty handle breaks the call screen of iOS 26.
    public let handle: String
    public let handleType: HandleType
    public let name: String?
    public let hasVideo: Bool
    /// nil for an unreadable push.
    public let push: CallPush?

    /// - Parameters:
    ///   - payload: `dictionaryPayload` of a `PKPushPayload`, in the payload profile `reveille`.
    ///   - unknownCaller: shown for an unreadable push; not empty.
    public init(payload: [AnyHashable: Any], unknownCaller: String = "Unknown") {
        var fields: [String: String] = [:]
        for case (let key as String, let value) in payload { fields[key] = Self.text(of: value) }
        if let push = CallPush(fields: fields) {
            (uuid, self.push) = (push.call.uuid, push)
            (handle, name, hasVideo) = (push.from.text, push.fromName, push.video)
            handleType = fields["handle_type"].flatMap { HandleType(rawValue: $0) } ?? .generic
        } else {
            (uuid, push) = (UUID(), nil)
            (handle, handleType, name, hasVideo) = (unknownCaller, .generic, nil, false)
        }
    }

    /// A value as FCM would send it; nil for one that is not JSON.
    private static func text(of value: Any) -> String? {
        switch value {
        case let text as String: return text
        case let number as NSNumber: return number.stringValue
        default:
            guard JSONSerialization.isValidJSONObject(value),
                let json = try? JSONSerialization.data(withJSONObject: value)
            else { return nil }
            return String(decoding: json, as: UTF8.self)
        }
    }
}
