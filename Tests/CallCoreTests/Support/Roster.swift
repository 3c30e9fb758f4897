import CallVocabulary

@testable import CallCore

/// The sessions as somebody sees them who only hears of the changes.
struct Roster {
    private(set) var sessions: [SessionID: (record: SessionRecord, isOnline: Bool)] = [:]

    var onlineCount: Int { sessions.values.count(where: \.isOnline) }

    mutating func take(_ change: SessionChange, violate: (String) -> Void) {
        switch change {
        case .online(let record):
            if sessions.values.contains(where: { $0.record.device == record.device && $0.record.id != record.id }) {
                violate("\(record.device) has two sessions")
            }
            // A resume may come before the end of the old socket.
            if let known = sessions[record.id]?.record,
                known.connection == record.connection || known.openedAt != record.openedAt
            {
                violate("\(record.id) came online twice, or has forgotten when it was opened")
            }
            sessions[record.id] = (record, true)
        case .away(let id, let device, _):
            guard let known = sessions[id], known.isOnline, known.record.device == device else {
                return violate("\(id) is away and was not online")
            }
            sessions[id] = (known.record, false)
        case .ended(let id, let device):
            guard let known = sessions.removeValue(forKey: id), known.record.device == device else {
                return violate("\(id) has ended and was never there")
            }
        }
    }
}
