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
    /// The subscriptions of all connections with the token for reading beyond which each may have ``fewestPerConnection``.
    static let mostOfReaders = 64
    /// As many as the board has.
    static let fewestPerConnection = 2
    /// Statistics are sent at multiples of this time, so that those of all subscriptions are made and encoded once.
    private static let statsStep = Duration.milliseconds(100)
    /// New subscriptions get figures of this age at most.
    private static let longestStatsAge = Duration.milliseconds(50)
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
    /// The subscriptions that get the figures that were asked for.
    private var told: Set<SubscriptionKey> = []
    private var isAsking = false
    /// The figures that were sent last, in JSON.
    private var lastStats: (json: [UInt8], at: Instant)?
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

    /// - Returns: the subscription's number.
    func subscribe(
        _ request: SubscribeToCalls, _ interval: Duration, on socket: WebSocketConnection
    ) throws(AdminRefusal) -> Int {
        let key = try begin(on: socket)
        monitor.subscribe(key, user: request.user, interval: interval, now: now())
        return key.number
    }

    /// As ``subscribe(_:_:on:)``.
    func subscribeToStats(_ interval: Duration, on socket: WebSocketConnection) throws(AdminRefusal) -> Int {
        let key = try begin(on: socket)
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

    private func begin(on socket: WebSocketConnection) throws(AdminRefusal) -> SubscriptionKey {
        let serial = socket.serial
        let held = subscriptions(of: serial)
        guard held < Self.mostPerConnection else {
            throw AdminRefusal(.limitReached, "A connection has at most \(Self.mostPerConnection) subscriptions.")
        }
        guard !socket.isReading || held < Self.fewestPerConnection || heldByReaders < Self.mostOfReaders else {
            throw AdminRefusal(
                .limitReached,
                "The connections with the token for reading have \(Self.mostOfReaders) subscriptions; beyond it each has at most "
                    + "\(Self.fewestPerConnection).")
        }
        connections[serial, default: Connection(socket: socket)].lastNumber += 1
        // The result is sent first, before the next turn.
        changed()
        return SubscriptionKey(connection: serial, number: connections[serial]?.lastNumber ?? 0)
    }

    private func subscriptions(of serial: UInt64) -> Int {
        monitor.subscriptions(of: serial) + stats.keys.count { $0.connection == serial }
    }

    private var heldByReaders: Int {
        connections.reduce(0) { $0 + ($1.value.socket.isReading ? subscriptions(of: $1.key) : 0) }
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
            stats[key]?.nextAt = Self.next(subscription, now)
            guard let socket = connections[key.connection]?.socket, socket.isOpen, socket.queuedBytes == 0 else {
                continue
            }
            told.insert(key)
        }
        if !told.isEmpty, !isAsking {
            if let lastStats, now - lastStats.at < Self.longestStatsAge {
                tell(lastStats.json)
            } else {
                isAsking = true
                figures.get { [weak self] in self?.take($0) }
            }
        }
        return stats.values.map(\.nextAt).min()
    }

    /// When a subscription is due again that is due now.
    private static func next(_ subscription: StatsSubscription, _ now: Instant) -> Instant {
        // Of one that is late the next is not due at once.
        let earliest = max(
            subscription.nextAt + subscription.interval, now + (subscription.interval - statsStep))
        let step = statsStep.wholeMilliseconds
        let rest = earliest.milliseconds % step
        return rest == 0 ? earliest : earliest + .milliseconds(step - rest)
    }

    private func take(_ stats: StatsView) {
        isAsking = false
        let json = AdminFrameWriter.json(stats)
        lastStats = (json, now())
        tell(json)
    }

    private func tell(_ json: [UInt8]) {
        for key in told where stats[key] != nil {
            connections[key.connection]?.socket.send(AdminFrameWriter.statsChanged(subscription: key.number, json))
        }
        told = []
    }

    private func arm(_ next: Instant?, _ now: Instant) {
        guard let next else { return timer?.stop() ?? () }
        if next <= now { changed() } else { timer?.start(after: next - now) }
    }
}

@available(*, unavailable)
extension SubscriptionDriver: Sendable {}
