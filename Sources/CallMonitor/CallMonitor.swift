import AdminProtocol
import CallCore
import CallVocabulary

/// The live picture of a server: its calls, its sessions, its figures, and who is told of what changes.
///
/// It is given what the core has committed, in order, and knows nothing else. Confined to one thread; it does no I/O and
/// reads no clock.
public final class CallMonitor {
    /// How many calls that have ended are kept for subscribers that are slow. Who misses more than these begins anew.
    public static let keptEndings = 4096

    var picture: CallPicture
    var subscriptions: [SubscriptionKey: CallSubscription] = [:]
    private var roster = SessionRoster()
    private var figures: CallFigures
    /// Devices that get no VoIP pushes because they do not report them.
    private var suspended: Set<DeviceKey> = []

    public convenience init(now: Instant) { self.init(now: now, keptEndings: Self.keptEndings) }

    init(now: Instant, keptEndings: Int) {
        picture = CallPicture(endings: keptEndings)
        figures = CallFigures(now: now)
    }

    // MARK: What happens

    /// The calls anew: at the start from what was recovered, later when batches have been lost. Sessions stay as they are.
    public func reset(with state: RecoveredState) {
        picture.reset(with: state)
        figures.recount(picture.calls.values.lazy.map(\.record.state))
        suspended = Set(state.devices.lazy.filter { $0.suspendedAt != nil }.map(\.key))
    }

    /// Takes one batch of committed records.
    /// - Parameter each: called for each step that something has taken, in order.
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
                .candidatesDropped, .group, .groupDeleted, .user, .alias, .aliasDeleted:
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
        // Steps that were taken at once, and came as one record.
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
        // Of a leg that has opened again nothing is told: it has ended before, and an older record would look the same.
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

    // MARK: What is asked

    public var liveCalls: Int { picture.calls.count }
    public var sessionsOnline: Int { roster.online }
    public var sessionsAway: Int { roster.away }

    /// Counts of the live calls, and of what happened of late.
    public func recentCalls(now: Instant) -> RecentCalls { figures.recent(now: now) }

    /// How long stages took.
    public var stages: StageLatencies { figures.stages }

    /// A page of the sessions, by user and device.
    /// - Throws: a refusal for an `after` that is none of ours.
    public func page(_ request: ListSessions) throws(AdminRefusal) -> AdminPage<SessionView> {
        try roster.page(request)
    }
}

@available(*, unavailable)
extension CallMonitor: Sendable {}
