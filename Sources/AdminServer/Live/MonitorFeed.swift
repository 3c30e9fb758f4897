import CallCore
import CallVocabulary
import EventLoop
import Synchronization

/// Delivers committed records to the monitor. Lossy, and never blocks the core or the store: when too many records
/// wait, all are dropped, and the monitor reloads itself from the store.
///
/// The monitor is woken for the first batch and then polls until the feed is empty: under load, a wake-up for each
/// batch would cost more than its content.
///
/// Sessions are not in the store: a loss drops only session changes that later changes supersede.
package final class MonitorFeed: Sendable {
    package struct Batch: Sendable {
        let records: [StoreRecord]
        let sessions: [SessionChange]

        package init(records: [StoreRecord], sessions: [SessionChange]) {
            self.records = records
            self.sessions = sessions
        }

        var size: Int { records.count + sessions.count }
    }

    /// Records that may wait: more than a second's worth of the highest load.
    package static let standardCapacity = 1 << 17

    private struct State {
        /// In order.
        var batches: [Batch] = []
        /// Waiting records: those in `batches`, and those that the monitor has taken and holds.
        var waiting = 0
        /// Whether the monitor was woken or is polling.
        var isAwake = false
        var isLost = false
        var losses: UInt64 = 0
        /// Session changes since the loss: the relevant ones of each device.
        var sessions: [DeviceKey: [SessionChange]] = [:]

        mutating func keep(_ changes: [SessionChange]) {
            for change in changes {
                switch change {
                // A device has one session: the new one replaces any other.
                case .online(let session): sessions[session.device] = [change]
                case .away(_, let device, _), .ended(_, let device): sessions[device, default: []].append(change)
                }
            }
        }
    }

    let capacity: Int
    private let mailbox: Mailbox<AdminMessage>
    private let state = Mutex(State())

    init(mailbox: Mailbox<AdminMessage>, capacity: Int = MonitorFeed.standardCapacity) {
        self.mailbox = mailbox
        self.capacity = capacity
    }

    /// Passes on one batch of durable records. Batches are posted in order, from one thread at a time.
    package func post(_ batch: Batch) {
        guard batch.size > 0 else { return }
        let news: AdminMessage? = state.withLock { state in
            if state.isLost {
                state.keep(batch.sessions)
                return nil
            }
            guard state.waiting + batch.size <= capacity else {
                state.isLost = true
                state.losses += 1
                state.keep(batch.sessions)
                return .feedLost
            }
            state.waiting += batch.size
            state.batches.append(batch)
            defer { state.isAwake = true }
            return state.isAwake ? nil : .fed
        }
        if let news { mailbox.postAlways(news) }
    }

    /// Takes the waiting batches, in order. They count as waiting until ``done(_:)``.
    /// - Parameter sleeps: when there are none, the monitor is woken for the next batch.
    func take(orSleep sleeps: Bool) -> [Batch] {
        state.withLock { state in
            if sleeps, state.batches.isEmpty { state.isAwake = false }
            defer { state.batches = [] }
            return state.batches
        }
    }

    /// Subtracts applied batches from the waiting records.
    func done(_ batches: [Batch]) {
        let size = batches.reduce(0) { $0 + $1.size }
        state.withLock { $0.waiting -= size }
    }

    /// Accepts batches again. All dropped records are on disk.
    /// - Returns: the session changes since the loss.
    func resume() -> [SessionChange] {
        state.withLock { state in
            defer { state.sessions = [:] }
            state.isLost = false
            return state.sessions.values.flatMap(\.self)
        }
    }

    /// The number of waiting records.
    var waiting: Int { state.withLock { $0.waiting } }
    /// The number of losses.
    var losses: UInt64 { state.withLock { $0.losses } }
}
