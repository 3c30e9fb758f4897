import CallCore
import CallVocabulary

/// Of a push, as much as it takes to tell what a record of it changes.
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
        // An act may have been of an app that ran without this push.
        isReported = record.reportedAt != nil && record.report != .acted
    }

    /// - Returns: nil when the record says nothing new.
    mutating func take(_ record: PushRecord) -> PushChange? {
        let taken = OpenPush(record)
        // An outcome and a report are final: a record without them is an older one. What was sent may come back.
        guard taken.isAnswered || !isAnswered, taken.isReported || !isReported, taken.standing != standing else {
            return nil
        }
        defer { self = taken }
        return PushChange(was: standing)
    }
}

struct PushChange {
    /// nil for a push that is new.
    let was: PushStanding?
}

extension PushStanding {
    init(_ record: PushRecord) { self.init(status: record.status, report: record.report) }

    /// As `PushRecord.isOpen`.
    var isOpen: Bool { status == .intended || status == .sent || report == .awaited }
}
