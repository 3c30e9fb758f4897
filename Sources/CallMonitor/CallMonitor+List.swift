import AdminProtocol
import CallCore
import CallVocabulary

extension CallMonitor {
    /// The most calls examined for one page: a short or empty page may have a successor.
    private static let mostLookedAt = 20_000

    /// A page of the live calls, newest first.
    /// - Throws: a refusal of an invalid `after` or `limit`.
    public func page(_ request: ListCalls) throws(AdminRefusal) -> AdminPage<CallView> {
        let limit = try AdminEndpoint.entries(request.limit)
        var before = request.untilMilliseconds.map {
            CallOrder(createdAt: Instant(milliseconds: $0), id: CallID(high: 0, low: 0))
        }
        if let text = request.after {
            guard let cursor = CallOrder(cursor: text) else {
                throw AdminRefusal(.invalidParams, "params.after: expected the `next` of the page before")
            }
            before = before.map { min($0, cursor) } ?? cursor
        }
        var page = AdminPage<CallView>(items: [])
        // A live call has no end reason, so none matches.
        guard request.reason == nil else { return page }
        var (room, looked) = (FrameRoom(), 0)
        var last: CallOrder?
        picture.order.descend(before: before) { key in
            if let since = request.sinceMilliseconds, key.createdAt.milliseconds < since { return false }
            guard let call = picture.calls[key.id] else { return true }
            let isAsked =
                (request.state ?? call.record.state) == call.record.state
                && request.user.map { call.concerns($0) } ?? true
            if looked == Self.mostLookedAt || isAsked && (page.items.count == limit || !room.take(call.record)) {
                page.next = last?.cursor
                return false
            }
            looked += 1
            last = key
            if isAsked { page.items.append(call.view) }
            return true
        }
        return page
    }
}

extension CallOrder {
    fileprivate var cursor: String { "\(createdAt.milliseconds) \(id)" }

    fileprivate init?(cursor: String) {
        let words = cursor.parts(at: " ")
        guard words.count == 2, let milliseconds = Int64(digits: words[0], in: 0...Int64.max),
            let id = CallID(words[1])
        else { return nil }
        self.init(createdAt: Instant(milliseconds: milliseconds), id: id)
    }
}
