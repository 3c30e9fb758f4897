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
            "push_id": push.id.description, "call_id": push.call.description, "user": push.device.user.text,
            "device_id": push.device.device.description, "status": push.status.rawValue,
            "intended_at": time(push.intendedAt), "expires_at": time(push.expiresAt),
        ]
        if let report = push.report { object["report"] = report.rawValue }
        if let reason = push.reason { object["reason"] = reason }
        if let at = push.sentAt { object["sent_at"] = time(at) }
        if let at = push.answeredAt { object["answered_at"] = time(at) }
        if let at = push.reportedAt { object["reported_at"] = time(at) }
        return object
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
