import AdminProtocol
import CallMonitor
import CallVocabulary
import EventLoop
import WebSocketServer

/// Sends due updates to subscribers, a few frames in one turn of the loop. A slow reader gets nothing until it has read
/// its previous update. Confined to the admin loop.
final class SubscriptionDriver {
    /// The most subscriptions of one connection.
    static let mostPerConnection = 16
    private static let framesInATurn = 2
    /// How soon a connection with queued bytes is tried again.
    private static let drainPause = Duration.milliseconds(50)

    private struct Connection {
        let socket: WebSocketConnection
        var lastNumber = 0
    }

    private struct StatsSubscription {
        let interval: Duration
        var nextAt: Instant
    }

    private let monitor: CallMonitor
    private let figures: FigureSubscriptions
    private let now: @Sendable () -> Instant
    private let loop: EventLoop
    /// Connections that have ever subscribed.
    private var connections: [UInt64: Connection] = [:]
    private var stats: [SubscriptionKey: StatsSubscription] = [:]
    private var timer: LoopTimer?
    private var isScheduled = false
    /// The subscription served last; the others precede it in the next turn.
    private var lastServed = SubscriptionKey(connection: 0, number: 0)

    init(monitor: CallMonitor, figures: FigureSubscriptions, now: @escaping @Sendable () -> Instant, loop: EventLoop) {
        self.monitor = monitor
        self.figures = figures
        self.now = now
        self.loop = loop
        timer = LoopTimer(loop: loop) { [weak self] in self?.turn() }
    }

    /// - Returns: the subscription's number; nil when the connection has ``mostPerConnection``.
    func subscribe(_ request: SubscribeToCalls, _ interval: Duration, on socket: WebSocketConnection) -> Int? {
        guard let key = begin(on: socket) else { return nil }
        monitor.subscribe(key, user: request.user, interval: interval, now: now())
        return key.number
    }

    /// As ``subscribe(_:_:on:)``.
    func subscribeToStats(_ interval: Duration, on socket: WebSocketConnection) -> Int? {
        guard let key = begin(on: socket) else { return nil }
        stats[key] = StatsSubscription(interval: interval, nextAt: now())
        return key.number
    }

    func unsubscribe(_ number: Int, on socket: WebSocketConnection) {
        let key = SubscriptionKey(connection: socket.serial, number: number)
        monitor.unsubscribe(key)
        stats[key] = nil
    }

    func connectionClosed(_ serial: UInt64) {
        guard connections.removeValue(forKey: serial) != nil else { return }
        monitor.unsubscribeAll(of: serial)
        stats = stats.filter { $0.key.connection != serial }
    }

    /// Schedules a turn in which changes are sent.
    func changed() {
        guard !isScheduled, !connections.isEmpty else { return }
        isScheduled = true
        loop.inNextTurn { [weak self] in self?.turn() }
    }

    private func begin(on socket: WebSocketConnection) -> SubscriptionKey? {
        let serial = socket.serial
        let held = monitor.subscriptions(of: serial) + stats.keys.count { $0.connection == serial }
        guard held < Self.mostPerConnection else { return nil }
        connections[serial, default: Connection(socket: socket)].lastNumber += 1
        // The result is sent first, before the next turn.
        changed()
        return SubscriptionKey(connection: serial, number: connections[serial]?.lastNumber ?? 0)
    }

    private func turn() {
        isScheduled = false
        let now = self.now()
        var next = tellStats(now)
        var frames = Self.framesInATurn
        for (key, from) in waiting {
            guard let socket = connections[key.connection]?.socket, socket.isOpen else { continue }
            let due = socket.queuedBytes > 0 ? max(from, now + Self.drainPause) : from
            if due > now {
                next = min(next ?? due, due)
                continue
            }
            guard frames > 0 else {
                next = now
                break
            }
            switch monitor.step(key, now: now) {
            case .idle: continue
            case .more: break
            case .notification(let frame):
                socket.send(AdminFrameWriter.notification(of: .callSubscribe, frame))
                lastServed = key
            }
            frames -= 1
            next = now
        }
        arm(next, now)
    }

    /// Subscriptions with updates, starting after the one served last.
    private var waiting: [(key: SubscriptionKey, from: Instant)] {
        let all = monitor.waitingSubscriptions.sorted { $0.key < $1.key }
        let first = all.firstIndex { lastServed < $0.key } ?? 0
        return Array(all[first...] + all[..<first])
    }

    /// - Returns: when the next one is due.
    private func tellStats(_ now: Instant) -> Instant? {
        for (key, subscription) in stats where subscription.nextAt <= now {
            // A slow reader skips updates: it gets the next one that is due.
            stats[key]?.nextAt = now + subscription.interval
            guard let socket = connections[key.connection]?.socket, socket.isOpen, socket.queuedBytes == 0 else {
                continue
            }
            figures.get { [weak self] stats in
                guard let self, self.stats[key] != nil else { return }
                let changed = StatsChanged(subscription: key.number, stats: stats)
                connections[key.connection]?.socket.send(
                    AdminFrameWriter.notification(of: .statsSubscribe, changed))
            }
        }
        return stats.values.map(\.nextAt).min()
    }

    private func arm(_ next: Instant?, _ now: Instant) {
        guard let next else { return timer?.stop() ?? () }
        if next <= now { changed() } else { timer?.start(after: next - now) }
    }
}

@available(*, unavailable)
extension SubscriptionDriver: Sendable {}
