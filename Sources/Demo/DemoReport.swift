import CallCore
import CallVocabulary
import PushSimulator
import StoreInterface

/// The result of the demo's call, from the store and the push simulator.
public struct DemoReport: Sendable {
    public let call: CallRecord
    public let timeline: CallTimeline
    public let audit: StoreAudit
    public let phones: PushSimulatorSnapshot?

    /// Deviations from the expected result; empty on success.
    public var problems: [String] {
        var problems = audit.violations
        let seen = Set(timeline.entries.map(\.step))
        let wanted: [CallTimeline.Step] = [
            .invited, .pushIntended, .pushSent, .pushAccepted, .woken, .pushReported, .ringing, .answered, .connected,
            .ended,
        ]
        for step in wanted where !seen.contains(step) { problems.append("the timeline lacks \(step.rawValue)") }
        if audit.counts.count(.reported) != audit.counts.intended {
            problems.append("\(audit.counts.intended) pushes intended, \(audit.counts.count(.reported)) reported")
        }
        if call.endReason != .hangup { problems.append("the call ended with \(call.endReason?.rawValue ?? "nothing")") }
        if let counts = phones?.counts {
            if counts.contractViolations > 0 {
                problems.append("\(counts.contractViolations) pushes were not reported to iOS")
            }
            if counts.reported != counts.delivered {
                problems.append("the phones got \(counts.delivered) pushes and reported \(counts.reported)")
            }
        }
        return problems
    }
}
