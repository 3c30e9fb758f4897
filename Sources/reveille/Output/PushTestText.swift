import CallVocabulary
import PushClient
import PushCore
import PushVocabulary

/// The result of a test push, as text and JSON.
struct PushTestText {
    let intent: PushIntent
    let result: PushProbe.Result
    let diagnosis: PushDiagnosis

    init(intent: PushIntent, result: PushProbe.Result) {
        self.intent = intent
        self.result = result
        diagnosis = PushDiagnosis(result.outcome, delivery: intent.delivery)
    }

    var lines: [String] {
        var table = Table(["PUSH", intent.id.description])
        table.add(["kind", intent.delivery?.rawValue ?? "-"])
        table.add(["token", intent.token.description])
        if let sent = result.untilSent { table.add(["on the wire after", Self.text(sent)]) }
        table.add(["answer", "\(word)\(reason.map { " (\($0))" } ?? "") after \(Self.text(result.untilOutcome))"])
        if result.attempts > 1 { table.add(["attempts", "\(result.attempts)"]) }
        return table.lines + ["", diagnosis.meaning] + diagnosis.advice.map { "  - \($0)" }
    }

    var json: [String: Any] {
        var json: [String: Any] = [
            "push_id": intent.id.description, "kind": intent.delivery?.rawValue ?? "",
            "token": intent.token.description,
            "outcome": word, "attempts": result.attempts, "ms": result.untilOutcome.wholeMilliseconds,
            "meaning": diagnosis.meaning, "advice": diagnosis.advice,
        ]
        json["reason"] = reason
        json["sent_after_ms"] = result.untilSent?.wholeMilliseconds
        return json
    }

    private var word: String {
        switch result.outcome {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .unknown: "unknown"
        case .returned: "returned"
        case .unsent: "not sent"
        }
    }

    private var reason: String? {
        switch result.outcome {
        case .accepted, .returned: nil
        case .rejected(let reason, _), .unknown(let reason), .unsent(let reason): reason
        }
    }

    private static func text(_ duration: Duration) -> String { "\(duration.wholeMilliseconds) ms" }
}
