import CallCore
import CallVocabulary

/// The parts of a push that determine what a new record changes.
struct OpenPush {
    let id: PushID
    private(set) var standing: PushStanding
    private(set) var sentAt: Instant?
    private var isAnswered: Bool
    private var isReported: Bool

    init(_ record: PushRecord) {
        id = record.id
        standing = PushStanding(record)
        sentAt = record.sentAt
        isAnswered = record.status != .intended && record.status != .sent
        // The action may come from an app that ran without this push.
        isReported = record.reportedAt != nil && record.report != .acted
    }

    /// - Returns: nil when the record contains no change.
    mutating func take(_ record: PushRecord) -> PushChange? {
        let taken = OpenPush(record)
        // An outcome and a report are final: a record without them is older. A sent push may be returned.
        guard taken.isAnswered || !isAnswered, taken.isReported || !isReported, taken.standing != standing else {
            return nil
        }
        defer { self = taken }
        return PushChange(was: standing)
    }
}

struct PushChange {
    /// nil for a new push.
    let was: PushStanding?
}

extension PushStanding {
    init(_ record: PushRecord) { self.init(status: record.status, report: record.report) }

    /// Same as `PushRecord.isOpen`.
    var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}
