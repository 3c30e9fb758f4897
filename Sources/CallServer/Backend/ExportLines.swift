import AdminProtocol
import CallVocabulary

/// The columns of calls in CSV.
enum CallLine: ExportLine {
    static let names = [
        "call_id", "from", "from_name", "to", "forwarded_to", "video", "created_at", "ringing_at", "answered_at",
        "answered_by", "connected_at", "ended_at", "reason", "ended_by", "talk_ms",
    ]

    static func values(_ call: CallView) -> [String] {
        // The talk ends with the loss of the connection.
        let talk = call.connectedAt.flatMap { from in (call.lostAt ?? call.endedAt).map { $0.instant - from.instant } }
        return [
            "\(call.callID)", call.from.text, call.fromName ?? "", call.to.text, call.forwardedTo?.text ?? "",
            "\(call.video)", call.createdAt.rfc3339, call.ringingAt?.rfc3339 ?? "", call.answeredAt?.rfc3339 ?? "",
            call.answeredBy?.text ?? "", call.connectedAt?.rfc3339 ?? "", call.endedAt?.rfc3339 ?? "",
            call.reason?.rawValue ?? "", call.endedBy?.text ?? "",
            talk.map { "\(max(0, $0.wholeMilliseconds))" } ?? "",
        ]
    }
}

/// The columns of pushes in CSV.
enum PushLine: ExportLine {
    static let names = [
        "push_id", "call_id", "purpose", "user", "device_id", "provider", "environment", "status", "report", "reason",
        "intended_at", "sent_at", "answered_at", "reported_at",
    ]

    static func values(_ push: PushView) -> [String] {
        [
            "\(push.pushID)", "\(push.callID)", push.purpose.rawValue, push.user.text, "\(push.deviceID)",
            push.token.provider.rawValue, push.token.environment.rawValue, push.status.rawValue,
            push.report?.rawValue ?? "", push.reason ?? "", push.intendedAt.rfc3339, push.sentAt?.rfc3339 ?? "",
            push.answeredAt?.rfc3339 ?? "", push.reportedAt?.rfc3339 ?? "",
        ]
    }
}

extension TargetView {
    fileprivate var text: String {
        switch target {
        case .user(let user): user.text
        case .users(let users): users.map(\.text).joined(separator: " ")
        case .group(let name): "group:\(name)"
        }
    }
}
