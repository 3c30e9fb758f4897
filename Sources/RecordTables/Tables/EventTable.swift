import CallCore
import CallEvents
import CallVocabulary
import StoreInterface

/// Events for other systems, with the body that is sent. `user` is the caller of the event's call, or the user of its
/// device. Rows are only inserted and deleted; `position` is in the order of their commits, and no position is used
/// twice.
package enum EventTable {
    package static let layout = TableLayout(
        name: "event", key: [], fixed: [], columns: ["id", "kind", "at", "call", "user", "device", "body"],
        numbering: "position")
    /// The last position of a store that is restored, so that it takes events for long before ``readPosition(_:)`` refuses.
    package static let lastRestored = Int64.max / 4
    package static let selectPage =
        "SELECT position, id, kind, at, call, user, device, body FROM event WHERE position > ?"

    package static func bind(_ event: EventRecord, to row: inout OperationBuffer) {
        row.bind(event.id)
        row.bind(event.kind)
        row.bind(event.at)
        switch event.subject {
        case .call(let call, _, _):
            row.bind(call.id)
            row.bind(call.caller.user)
            row.bind(DeviceID?.none)
        case .device(let device, _):
            row.bind(CallID?.none)
            row.bind(device.key.user)
            row.bind(device.key.device)
        }
        row.bindText { EventBody.append(event, to: &$0) }
    }

    /// - Throws: `StoreFailure.Reason.unreadableRow` for a number that no store gives.
    static func readPosition(_ row: some StatementRow) throws(StoreFailure) -> Int64 {
        let position = row.int()
        guard (0...Int64.max / 2).contains(position) else { throw row.unreadable() }
        return position
    }

    package static func read(_ row: some StatementRow) throws(StoreFailure) -> StoredEvent {
        let position = try readPosition(row)
        let id: EventID = try row.identifier()
        let (kind, at): (EventKind, Instant) = (try row.value(), try row.instant())
        let call: CallID? = try row.optionalIdentifier()
        let user = try row.optionalHandle()
        let device: DeviceID? = try row.optionalIdentifier()
        let subject: StoredEvent.Subject
        switch (call, user, device) {
        case (let call?, _, nil): subject = .call(call)
        case (nil, let user?, let device?): subject = .device(DeviceKey(user: user, device: device))
        default: throw row.unreadable()
        }
        guard let body = row.json() else { throw row.unreadable() }
        return StoredEvent(position: position, id: id, kind: kind, at: at, subject: subject, user: user, body: body)
    }
}
