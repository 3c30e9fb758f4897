import AdminProtocol
import CallVocabulary

/// The live calls of a subscription, and calls that have just ended. A change costs time in proportion to its calls.
struct CallBoard {
    struct Entry {
        var call: CallView
        /// What a filter looks at, in lower case.
        var searchText: String
        /// On the clock of ``ScreenTime/uptime``; nil while the call is live.
        var endedAt: Duration?
        /// Counts its changes.
        var revision: Int
    }

    /// How long a call that has ended stays to be seen.
    static let afterglow = Duration.seconds(6)
    /// How many of these: under a load that ends more, they go sooner.
    static let mostEnded = 1000
    /// Over how long the rate of new calls is taken, in seconds.
    private static let rateSpan = 10

    private(set) var entries: [CallID: Entry] = [:]
    private(set) var liveByState: [CallState: Int] = [:]
    /// Counts visible changes.
    private(set) var revision = 0
    /// A first picture has come.
    private(set) var isComplete = false
    /// An incomplete picture; the previous one is shown until it is complete.
    private var coming: [CallID: CallView]?
    /// In the order they ended.
    private var ended: ArraySlice<(id: CallID, at: Duration)> = []
    /// New calls by whole second of uptime, for the last seconds.
    private var arrivals: ArraySlice<(second: Int64, count: Int)> = []
    private var knownSince: Duration?

    var liveCount: Int { liveByState.values.reduce(0, +) }

    /// A new subscription: its first picture replaces the present one when complete.
    mutating func begin() {
        coming = [:]
        arrivals = []
        knownSince = nil
    }

    mutating func take(_ change: CallsChanged, at now: Duration) {
        if change.isReset, coming == nil { begin() }
        if change.isReset { coming = [:] }
        if var picture = coming {
            coming = nil
            for call in change.calls { picture[call.callID] = call.state.isLive ? call : nil }
            for id in change.gone { picture[id] = nil }
            if change.isComplete { replace(with: picture, at: now) } else { coming = picture }
            return
        }
        for call in change.calls { take(call, at: now) }
        for id in change.gone where entries[id]?.endedAt == nil { remove(id) }
        if !change.calls.isEmpty || !change.gone.isEmpty { revision += 1 }
    }

    /// Lets go of the calls that ended some time ago.
    mutating func forgetEnded(at now: Duration) {
        while let first = ended.first, ended.count > Self.mostEnded || now - first.at >= Self.afterglow {
            ended = ended.dropFirst()
            if entries[first.id]?.endedAt == first.at {
                entries[first.id] = nil
                revision += 1
            }
        }
    }

    /// New calls a second, over the last ten; nil until there is a time to take it over.
    func rate(at now: Duration) -> Double? {
        guard let knownSince, now - knownSince >= .seconds(1) else { return nil }
        let second = now.components.seconds
        let count = arrivals.reduce(0) { second - $1.second < Self.rateSpan ? $0 + $1.count : $0 }
        return Double(count) / Double(min(Int64(Self.rateSpan), (now - knownSince).components.seconds))
    }

    // MARK: One call

    private mutating func take(_ call: CallView, at now: Duration) {
        let before = entries[call.callID]
        // What has been told as ended says nothing new.
        guard before?.endedAt == nil else { return }
        if let before { count(before.call.state, -1) }
        if before == nil, call.state.isLive { arrived(at: now) }
        var entry = Entry(
            call: call, searchText: before?.searchText ?? Self.searchText(call), endedAt: nil,
            revision: (before?.revision ?? 0) + 1)
        if before?.call.state != call.state { entry.searchText = Self.searchText(call) }
        if call.state.isLive {
            count(call.state, 1)
        } else {
            entry.endedAt = now
            ended.append((call.callID, now))
        }
        entries[call.callID] = entry
    }

    private mutating func remove(_ id: CallID) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        if entry.endedAt == nil { count(entry.call.state, -1) }
    }

    private mutating func replace(with picture: [CallID: CallView], at now: Duration) {
        let before = entries
        entries = [:]
        liveByState = [:]
        for call in picture.values {
            count(call.state, 1)
            let revision = before[call.callID].map { $0.call == call ? $0.revision : $0.revision + 1 } ?? 1
            entries[call.callID] = Entry(
                call: call, searchText: Self.searchText(call), endedAt: nil, revision: revision)
        }
        for (id, entry) in before where entry.endedAt != nil && entries[id] == nil { entries[id] = entry }
        isComplete = true
        knownSince = now
        revision += 1
    }

    private mutating func count(_ state: CallState, _ change: Int) {
        let count = liveByState[state, default: 0] + change
        liveByState[state] = count > 0 ? count : nil
    }

    private mutating func arrived(at now: Duration) {
        let second = now.components.seconds
        if let last = arrivals.last, last.second == second {
            arrivals[arrivals.endIndex - 1].count += 1
        } else {
            arrivals.append((second, 1))
            while let first = arrivals.first, second - first.second >= Self.rateSpan { arrivals = arrivals.dropFirst() }
        }
    }

    private static func searchText(_ call: CallView) -> String {
        let words = [
            call.from.text, CallWords.target(call.to), call.state.rawValue, call.reason?.rawValue ?? "",
            call.answeredBy?.text ?? "", call.callID.description,
        ]
        // No word holds it, so that none is found across two.
        return words.joined(separator: "\n").lowercased()
    }
}
