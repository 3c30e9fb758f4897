import CallVocabulary
import Foundation
import PushSimulator
import SoftphoneSession

/// A push as the app receives it: a dictionary.
struct PushContent {
    /// The top-level members of the payload, or of FCM's `data`, as texts.
    var fields: [String: String] = [:]
    /// The alert or background task of a push without a ringing call.
    var notice: WakeablePhone.Notice?

    /// - Returns: nil for a payload that is not a JSON object. A browser shows it nevertheless.
    init?(_ push: PhoneLink.Push) {
        let read = try? JSONSerialization.jsonObject(with: Data(push.payload)) as? [String: Any]
        guard let object = push.provider == .webpush ? read ?? [:] : read else { return nil }
        fields = Self.texts(push.provider == .fcm ? object["data"] as? [String: Any] ?? [:] : object)
        let alert = (object["aps"] as? [String: Any])?["alert"] ?? object["notification"]
        let words = alert as? [String: Any]
        // A plugin's push has its own `type`, a number.
        let type = fields["type"].flatMap { PushPurpose(rawValue: $0) == nil ? nil : $0 }
        let isWithoutCall = type != nil
        guard alert != nil || isWithoutCall || push.headers["apns-push-type"] == "background" else { return }
        if push.provider == .webpush {
            let shown = notification(id: push.id)
            notice = WakeablePhone.Notice(title: shown.title, body: shown.body, type: type)
        } else {
            notice = WakeablePhone.Notice(
                title: words?["title"] as? String, body: words?["body"] as? String ?? alert as? String, type: type)
        }
    }

    /// What a service worker shows. The missed call replaces the ringing one.
    /// - Parameter isLate: whether the call's push came after its expiry.
    func notification(id: String, isLate: Bool = false) -> ShownAlert {
        let caller = fields["name"] ?? fields["handle"]
        let isMissed = isLate || fields["type"] == PushPurpose.missedCall.rawValue
        let words = isMissed ? "Missed call" : "Incoming call"
        return ShownAlert(
            id: id, collapseID: fields["uuid"], title: caller ?? "Reveille", body: caller == nil ? nil : words)
    }

    static var now: Instant { Instant(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)) }

    /// Why a push has no call to show.
    struct Failure: Error {
        let reading: PhoneApp.Reading
    }

    /// The call of the push, parsed by the rules of `app`. The app reads the server's ids at the top of the payload,
    /// whatever the profile.
    func call(by app: PhoneApp, _ push: PhoneLink.Push) -> Result<CallPush, Failure> {
        let reading = app.read(push.payload, isAndroid: push.provider == .fcm)
        guard case .shown(let shown) = reading else { return .failure(Failure(reading: reading)) }
        var fields = fields
        fields["uuid"] = shown.call ?? shown.uuid
        // A plugin may show a call whose handle is missing, or is no handle of the server's.
        fields["handle"] = [fields["handle"] ?? shown.handle].first { Handle($0) != nil } ?? "unknown"
        fields["name"] = shown.name
        fields["has_video"] = shown.video ? "true" : "false"
        guard let call = CallPush(fields: fields) else {
            return .failure(Failure(reading: .nothing(reason: "push_id, expires_at or the call's id is missing")))
        }
        return .success(call)
    }

    private static func texts(_ object: [String: Any]) -> [String: String] {
        var fields: [String: String] = [:]
        for (key, value) in object {
            switch value {
            case let text as String: fields[key] = text
            case let number as NSNumber where key == "has_video": fields[key] = number.boolValue ? "true" : "false"
            case let number as NSNumber: fields[key] = number.stringValue
            case let other where key == "custom":
                if let data = try? JSONSerialization.data(withJSONObject: other) {
                    fields[key] = String(decoding: data, as: UTF8.self)
                }
            default: break
            }
        }
        return fields
    }
}
