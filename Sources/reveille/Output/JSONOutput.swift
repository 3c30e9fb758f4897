import CallCore
import CallStore
import CallVocabulary
import Foundation

/// Results for programs. The keys are stable; times are milliseconds since the epoch, with an RFC 3339 twin.
enum JSONOutput {
    static func write(_ object: [String: Any]) throws {
        let data = try JSONSerialization.data(
            withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
        print(String(decoding: data, as: UTF8.self))
    }

    static func time(_ instant: Instant) -> [String: Any] {
        let date = Date(timeIntervalSince1970: Double(instant.milliseconds) / 1000)
        let formatter = ISO8601DateFormatter()
        formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
        return ["ms": instant.milliseconds, "rfc3339": formatter.string(from: date)]
    }

    static func call(_ call: CallRecord) -> [String: Any] {
        var object: [String: Any] = [
            "call_id": call.id.description, "state": call.state.rawValue, "from": call.caller.user.text,
            "to": target(call.to), "video": call.video, "created_at": time(call.createdAt),
        ]
        if let at = call.answeredAt { object["answered_at"] = time(at) }
        if let by = call.answeredBy { object["answered_by"] = TimelineText.name(by) }
        if let at = call.connectedAt { object["connected_at"] = time(at) }
        if let at = call.endedAt { object["ended_at"] = time(at) }
        if let reason = call.endReason { object["reason"] = reason.rawValue }
        return object
    }

    static func target(_ target: CallTarget) -> Any {
        switch target {
        case .user(let handle): handle.text
        case .users(let handles): handles.map(\.text)
        case .group(let name): ["group": name]
        }
    }

    static func push(_ push: PushRecord) -> [String: Any] {
        var object: [String: Any] = [
            "push_id": push.id.description, "purpose": push.purpose.rawValue, "call_id": push.call.description,
            "user": push.device.user.text, "device_id": push.device.device.description,
            "token": token(push.token), "status": push.status.rawValue,
            "intended_at": time(push.intendedAt), "expires_at": time(push.expiresAt),
        ]
        if let delivery = push.delivery { object["delivery"] = delivery.rawValue }
        if let report = push.report { object["report"] = report.rawValue }
        if let reason = push.reason { object["reason"] = reason }
        if let error = push.reportError { object["report_error"] = error }
        if let at = push.reportDueAt { object["report_due_at"] = time(at) }
        if let at = push.sentAt { object["sent_at"] = time(at) }
        if let at = push.answeredAt { object["answered_at"] = time(at) }
        if let at = push.reportedAt { object["reported_at"] = time(at) }
        return object
    }

    /// Of its tokens, the first characters.
    static func device(_ device: DeviceRecord) -> [String: Any] {
        var object: [String: Any] = [
            "user": device.key.user.text, "device_id": device.key.device.description,
            "platform": device.platform.rawValue, "seen_at": time(device.seenAt),
            "unreported_streak": device.unreportedStreak, "is_suspended": device.suspendedAt != nil,
        ]
        object["tokens"] = device.tokens.map { held in
            token(held.token).merging(["registered_at": time(held.registeredAt)]) { first, _ in first }
        }
        if let app = device.app { object["app"] = app }
        if let name = device.name { object["name"] = name }
        if let at = device.suspendedAt { object["suspended_at"] = time(at) }
        return object
    }

    private static func token(_ token: PushToken) -> [String: Any] {
        [
            "provider": token.provider.rawValue, "kind": token.kind.rawValue,
            "environment": token.environment.rawValue, "topic": token.topic, "token": "\(token.token.prefix(8))…",
        ]
    }

    static func timeline(_ timeline: CallTimeline) -> [[String: Any]] {
        timeline.entries.map { entry in
            var object: [String: Any] = ["at": time(entry.at), "step": entry.step.rawValue]
            if let by = entry.by { object["by"] = TimelineText.name(by) }
            if let detail = entry.detail { object["detail"] = detail }
            return object
        }
    }

    static func audit(_ counts: LedgerCounts, violations: [String]) -> [String: Any] {
        var statuses: [String: Int] = [:]
        for status in ProviderStatus.allCases { statuses[status.rawValue] = counts.count(status) }
        var reports: [String: Int] = [:]
        for report in ReportStatus.allCases { reports[report.rawValue] = counts.count(report) }
        return [
            "balanced": violations.isEmpty, "intended": counts.intended, "provider": statuses, "report": reports,
            "violations": violations,
        ]
    }
}
