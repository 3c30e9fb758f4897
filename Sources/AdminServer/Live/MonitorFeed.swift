import CallCore
import CallVocabulary
import EventLoop
import Synchronization

/// The way of what is committed to the monitor. The core and the store never wait on it: when too much waits, it is lost
/// as a whole, the monitor is told so, and loads itself anew from the store.
///
/// The monitor is woken for the first batch and from then on looks by itself, until it finds nothing: under load, a wake
/// for each batch would cost more than what is in it.
///
/// Sessions are in no store: of these only what is out of date is lost.
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
        /// Records that wait: in `batches`, and those that the monitor has taken and holds back.
        var waiting = 0
        /// The monitor has been woken, or looks by itself.
        var isAwake = false
        var isLost = false
        var losses: UInt64 = 0
        /// What became of sessions since the loss: of each device what counts.
        var sessions: [DeviceKey: [SessionChange]] = [:]

        mutating func keep(_ changes: [SessionChange]) {
            for change in changes {
                switch change {
                // Whatever session the device had before, this one has its place.
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

    /// Hands one batch on, whose records are on disk. Batches are given in order, from one thread at a time.
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

    /// Takes what waits, in order. It counts as waiting until it is ``done(_:)``.
    /// - Parameter sleeps: when there is nothing, the monitor is woken for the next batch.
    func take(orSleep sleeps: Bool) -> [Batch] {
        state.withLock { state in
            if sleeps, state.batches.isEmpty { state.isAwake = false }
            defer { state.batches = [] }
            return state.batches
        }
    }

    /// These batches wait no longer.
    func done(_ batches: [Batch]) {
        let size = batches.reduce(0) { $0 + $1.size }
        state.withLock { $0.waiting -= size }
    }

    /// From now on batches come again. Whatever was lost is on disk.
    /// - Returns: what became of sessions meanwhile.
    func resume() -> [SessionChange] {
        state.withLock { state in
            defer { state.sessions = [:] }
            state.isLost = false
            return state.sessions.values.flatMap(\.self)
        }
    }

    /// Records that wait now.
    var waiting: Int { state.withLock { $0.waiting } }
    /// How often it was lost.
    var losses: UInt64 { state.withLock { $0.losses } }
}
