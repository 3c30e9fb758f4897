import AdminProtocol
import CallCore
import CallVocabulary

/// All sessions, online and away.
struct SessionRoster {
    private struct Entry {
        var session: SessionRecord
        /// nil while the session has a socket.
        var awaySince: Instant?
    }

    /// By user, then by device.
    private struct Key: Comparable {
        let device: DeviceKey

        static func < (a: Self, b: Self) -> Bool {
            a.device.user == b.device.user ? a.device.device < b.device.device : a.device.user < b.device.user
        }
    }

    private var entries: [DeviceKey: Entry] = [:]
    private var order = SortedKeys<Key>()
    private(set) var online = 0

    var count: Int { entries.count }
    var away: Int { count - online }

    mutating func take(_ change: SessionChange) {
        switch change {
        case .online(let session):
            let was = entries.updateValue(Entry(session: session), forKey: session.device)
            if was == nil { order.insert(Key(device: session.device)) }
            if was == nil || was?.awaySince != nil { online += 1 }
        case .away(let id, let device, let instant):
            guard let entry = entries[device], entry.session.id == id, entry.awaySince == nil else { return }
            entries[device]?.awaySince = instant
            online -= 1
        case .ended(let id, let device):
            // Ignores a session that another has replaced.
            guard let entry = entries[device], entry.session.id == id else { return }
            entries[device] = nil
            order.remove(Key(device: device))
            if entry.awaySince == nil { online -= 1 }
        }
    }

    /// - Throws: a refusal of an invalid `after` or `limit`.
    func page(_ request: ListSessions) throws(AdminRefusal) -> AdminPage<SessionView> {
        let limit = try AdminEndpoint.entries(request.limit)
        var page = AdminPage<SessionView>(items: [])
        var after: Key?
        if let text = request.after {
            guard let device = DeviceKey(cursor: text) else {
                throw AdminRefusal(.invalidParams, "params.after: expected the `next` of the page before")
            }
            after = Key(device: device)
        }
        func isReached(_ key: Key) -> Bool {
            if let user = request.user, key.device.user < user { return false }
            return after.map { key > $0 } ?? true
        }
        var last: DeviceKey?
        order.ascend(from: isReached) { key in
            if let user = request.user, key.device.user != user { return false }
            if page.items.count == limit {
                page.next = last?.cursor
                return false
            }
            if let entry = entries[key.device] { page.items.append(SessionView(entry.session, entry.awaySince)) }
            last = key.device
            return true
        }
        return page
    }
}

extension SessionView {
    fileprivate init(_ session: SessionRecord, _ awaySince: Instant?) {
        self.init(
            user: session.device.user, deviceID: session.device.device, platform: session.platform, app: session.app,
            state: awaySince == nil ? .online : .away, wakeCallID: session.wakeCall,
            openedAt: Timestamp(session.openedAt), since: Timestamp(awaySince ?? session.onlineSince))
    }
}

extension DeviceKey {
    /// A handle has no white space.
    fileprivate var cursor: String { "\(device) \(user)" }

    fileprivate init?(cursor: String) {
        let words = cursor.parts(at: " ")
        guard words.count == 2, let device = DeviceID(words[0]), let user = Handle(String(words[1])) else { return nil }
        self.init(user: user, device: device)
    }
}
