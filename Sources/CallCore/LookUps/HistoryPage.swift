import CallVocabulary

/// The request of a `call.list`.
public struct HistoryQuery: Equatable, Sendable {
    /// The user whose history is read, and the device that asks.
    public var party: Party
    /// Where the page begins, as a wall clock time from an earlier reply. nil for the newest calls.
    public var after: HistoryCursor?
    /// The most calls on the page; nil for the default.
    public var limit: Int?

    public init(party: Party, after: HistoryCursor?, limit: Int?) {
        self.party = party
        self.after = after
        self.limit = limit
    }
}

/// One page of a user's calls, newest first.
public struct HistoryPage: Equatable, Sendable {
    public var calls: [CallSnapshot]
    /// Where the next page begins; nil on the last page.
    public var next: HistoryCursor?

    public init(calls: [CallSnapshot], next: HistoryCursor?) {
        self.calls = calls
        self.next = next
    }

    /// Cuts the page to the calls that fit one frame.
    public func fittingFrame() -> HistoryPage {
        let fitting = Array(calls.prefixThatFitsFrame)
        guard fitting.count < calls.count, let last = fitting.last else { return self }
        return HistoryPage(calls: fitting, next: HistoryCursor(before: last.createdAt, call: last.call))
    }
}

/// `call.list`: the store reads the page, and the core replaces calls that it has in memory by their current state.
extension CallCore {
    /// The most pages that are read for one user at a time. The store reads them one after the other, and the events for
    /// webhooks between them; a page takes some milliseconds.
    static let mostPagesOfUser = 16

    func readHistory(_ query: HistoryQuery, _ connection: ConnectionID, _ request: RequestID) {
        let user = query.party.user
        let share = min(Self.mostPagesOfUser, CoreLimits.share(of: limits.lookUps))
        guard historyReads < limits.lookUps, historyShares.count(of: user) < share else {
            counters.hit(.lookUps)
            return putOffHistory(connection, request)
        }
        historyReads += 1
        historyShares.add(to: user)
        historyReaders[connection, default: (user, 0)].reads += 1
        effects.append(.readHistory(connection, request, query))
    }

    func takeUpHistory(_ page: HistoryPage?, _ connection: ConnectionID, _ request: RequestID) {
        noteHistoryRead(for: connection)
        guard let device = directory.session(on: connection)?.device else { return }
        guard var page else {
            return putOffHistory(connection, request)
        }
        for (index, stored) in page.calls.enumerated() {
            guard let call = calls[stored.call], let view = view(of: call, for: device.key.user, device: device) else {
                continue
            }
            page.calls[index] = view
        }
        page = page.fittingFrame()
        reply(connection, request, .calls(page.calls, next: page.next))
    }

    private func noteHistoryRead(for connection: ConnectionID) {
        historyReads -= 1
        guard var reader = historyReaders[connection] else { return }
        historyShares.remove(from: reader.user)
        reader.reads -= 1
        historyReaders[connection] = reader.reads > 0 ? reader : nil
    }

    private func putOffHistory(_ connection: ConnectionID, _ request: RequestID) {
        refuse(
            connection, request, .overloaded(retryAfter: .seconds(1)),
            "The calls cannot be read right now; try again shortly.")
    }
}
