import AdminProtocol
import CallCore
import CallVocabulary

/// The live state of a server: calls, sessions, figures and subscriptions.
///
/// Built only from committed records, in order. Confined to one thread; no I/O, no clock.
public final class CallMonitor {
    /// The most ended calls kept for slow subscribers. A subscriber that misses more is reset.
    public static let keptEndings = 4096

    var picture: CallPicture
    var subscriptions: [SubscriptionKey: CallSubscription] = [:]
    private var roster = SessionRoster()
    private var figures: CallFigures
    /// Devices without VoIP pushes, because they do not report them.
    private var suspended: Set<DeviceKey> = []

    public convenience init(now: Instant) { self.init(now: now, keptEndings: Self.keptEndings) }

    init(now: Instant, keptEndings: Int) {
        picture = CallPicture(endings: keptEndings)
        figures = CallFigures(now: now)
    }

    // MARK: Inputs

    /// Replaces the calls and the suspended devices: at the start with the recovered state, later after lost batches. Sessions stay unchanged.
    public func reset(with state: RecoveredState) {
        picture.reset(with: state)
        figures.recount(picture.calls.values.lazy.map(\.record.state))
        suspended = Set(state.suspended)
    }

    /// Applies one batch of committed records.
    /// - Parameter each: called for each transition, in order.
    public func apply(_ records: [StoreRecord], now: Instant, each: (Transition) -> Void) {
        for record in records {
            switch record {
            case .call(let call): take(call, now, each)
            case .leg(let leg): take(leg, now, each)
            case .push(let push): take(push, now, each)
            case .device(let device):
                if device.suspendedAt != nil {
                    if suspended.insert(device.key).inserted { each(.deviceSuspended(device)) }
                } else if !suspended.isEmpty, suspended.remove(device.key) != nil {
                    each(.deviceResumed(device))
                }
            case .deviceDropped(let key): suspended.remove(key)
            case .descriptions, .descriptionsDropped, .absence, .missed, .missedCleared, .candidates,
                .candidatesDropped, .group, .groupDeleted, .user, .rules, .revocation, .alias, .aliasDeleted, .event:
                break
            }
        }
    }

    public func apply(_ change: SessionChange) { roster.take(change) }

    private func take(_ record: CallRecord, _ now: Instant, _ each: (Transition) -> Void) {
        guard let change = picture.take(record) else { return }
        figures.call(record, change, now: now)
        var was = change.was
        func step(to state: CallState) {
            var record = record
            record.state = state
            each(.call(record, was: was))
            was = state
        }
        // Several steps were taken before the commit, and have one record.
        if was == nil, record.state != .routing { step(to: .routing) }
        if change.isRinging, record.state != .ringing { step(to: .ringing) }
        if change.isAnswered, record.state != .answered { step(to: .answered) }
        if change.isConnected, record.state != .connected { step(to: .connected) }
        if record.state != was { each(.call(record, was: was)) }
    }

    private func take(_ record: LegRecord, _ now: Instant, _ each: (Transition) -> Void) {
        guard let change = picture.take(record) else { return }
        if change.new.contains(.woken), let wokenAt = record.wokenAt,
            let sentAt = picture.sentAt(record.push, of: record.call)
        {
            figures.stages.record(.pushSentToWoken, wokenAt - sentAt, now: now)
        }
        var was = change.was
        func step(to state: LegRecord.State) {
            var record = record
            record.state = state
            each(.leg(record, was: was))
            was = state
        }
        if was == nil, record.state != .idle { step(to: .idle) }
        // A reopened leg is not reported: its record is indistinguishable from an older record of the ended leg.
        if was != .ended {
            let isOfferedBefore = record.offeredAt.map { $0 <= record.ringingAt ?? $0 } ?? false
            if change.new.contains(.offered), isOfferedBefore, record.state != .offered, was != .ringing {
                step(to: .offered)
            }
            if change.new.contains(.ringing), record.state != .ringing { step(to: .ringing) }
            if change.new.contains(.answered), record.state != .answered { step(to: .answered) }
        }
        if record.state != was { each(.leg(record, was: was)) }
    }

    private func take(_ record: PushRecord, _ now: Instant, _ each: (Transition) -> Void) {
        guard let change = picture.take(record) else { return }
        figures.push(record, was: change.was, now: now)
        each(.push(record, was: change.was))
    }

    // MARK: Queries

    public var liveCalls: Int { picture.calls.count }
    public var sessionsOnline: Int { roster.online }
    public var sessionsAway: Int { roster.away }

    /// Counts of live calls, and of recent invites and ends.
    public func recentCalls(now: Instant) -> RecentCalls { figures.recent(now: now) }

    public var stages: StageLatencies { figures.stages }

    /// A page of the sessions, by user and device.
    /// - Throws: a refusal for an invalid `after`.
    public func page(_ request: ListSessions) throws(AdminRefusal) -> AdminPage<SessionView> {
        try roster.page(request)
    }
}

@available(*, unavailable)
extension CallMonitor: Sendable {}
