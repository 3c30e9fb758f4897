import CallCore
import CallVocabulary

/// A push for people to read.
enum PushText {
    /// What it is at its provider.
    static func kind(_ push: PushRecord) -> String {
        push.delivery?.rawValue ?? "\(push.token.provider.rawValue)/\(push.token.kind.rawValue)"
    }

    /// All that the ledger has of it; of the token, the first characters.
    static func table(_ push: PushRecord) -> Table {
        var table = Table(["PUSH", push.id.description])
        func add(_ name: String, _ instant: Instant?) {
            if let instant { table.add([name, Moment.text(instant)]) }
        }
        table.add(["purpose", push.purpose.rawValue])
        table.add(["kind", kind(push)])
        table.add(["call", push.call.description])
        table.add(["to", push.device.user.text])
        table.add(["device", push.device.device.description])
        table.add(["token", push.token.description])
        table.add(["provider", push.status.rawValue])
        if let reason = push.reason { table.add(["reason", reason]) }
        table.add(["report", push.report?.rawValue ?? "-"])
        if let error = push.reportError { table.add(["report error", error]) }
        add("intended", push.intendedAt)
        add("sent", push.sentAt)
        add("answered", push.answeredAt)
        add("report due", push.reportDueAt)
        add("reported", push.reportedAt)
        add("expires", push.expiresAt)
        return table
    }
}
