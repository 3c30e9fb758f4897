import Dispatch
import EventLoop
import StoreInterface

/// Watches a realm for a standby, on a thread and a connection of its own, and says that the standby runs.
///
/// May be used from any thread. Must be ended with ``stop()``.
package final class StandbyWatch: Sendable {
    private let loop: EventLoop
    private let watcher: LoopBound<Watcher>

    /// Starts the thread.
    /// - Parameter onSight: called on it with the first sight, and with each that differs from the one before.
    package init(
        _ address: PostgresAddress, _ node: RealmNode, onSight: @escaping @Sendable (RealmSight) -> Void
    ) throws(StoreFailure) {
        do {
            loop = try EventLoop(name: "standby")
        } catch {
            throw StoreFailure(.inputOutput, path: address.description, detail: "\(error)")
        }
        let watcher = LoopBound(Watcher(address, node, loop, onSight), on: loop)
        self.watcher = watcher
        loop.start()
        loop.execute { watcher.value.look() }
    }

    /// Ends the thread. Nothing is seen after it has returned.
    package func stop() async {
        loop.execute { [watcher] in watcher.value.close() }
        await loop.stopAndWait()
    }
}

/// The part of a ``StandbyWatch`` that is confined to its thread.
private final class Watcher {
    private static let period = Duration.milliseconds(100)
    private static let betweenBeats = Duration.seconds(1)
    private static let patience = Duration.seconds(2)
    /// How long an ended lease is left to the home after the database was away for this standby. A home that renews it
    /// goes on with all its connections.
    private static let headStart = Lease.renewal * 3

    private let address: PostgresAddress
    private let node: RealmNode
    private let loop: EventLoop
    private let onSight: @Sendable (RealmSight) -> Void
    private var connection: PostgresConnection?
    private var timer: LoopTimer?
    private var last: RealmSight?
    /// The home that was seen last.
    private var home = "the one before the database was away"
    /// When the database answered again; nil unless it was away.
    private var backAt: ContinuousClock.Instant?
    private var isAway = false
    private var beatAt: ContinuousClock.Instant?
    /// Whether the realm's tables have nodes: the home makes them, and may be of an earlier version.
    private var hasNodes = false
    private var isClosed = false

    init(
        _ address: PostgresAddress, _ node: RealmNode, _ loop: EventLoop,
        _ onSight: @escaping @Sendable (RealmSight) -> Void
    ) {
        self.address = address
        self.node = node
        self.loop = loop
        self.onSight = onSight
    }

    func look() {
        guard !isClosed else { return }
        let sight: RealmSight
        do throws(StoreFailure) {
            sight = leavingHeadStart(try attempt())
        } catch {
            connection = nil
            isAway = true
            sight = .unreachable(error.reason == .busy ? SynchronousStandby.explain(error, address) : error)
        }
        if sight != last { onSight(sight) }
        last = sight
        let timer = timer ?? LoopTimer(loop: loop) { [weak self] in self?.look() }
        self.timer = timer
        timer.start(after: Self.period)
    }

    private func attempt() throws(StoreFailure) -> RealmSight {
        let connection = try connected()
        let now = ContinuousClock.now
        if beatAt.map({ now - $0 >= Self.betweenBeats }) ?? true {
            if !hasNodes {
                // The first home makes the tables.
                guard let version = try PostgresSchema.version(connection) else { return .free }
                hasNodes = version >= PostgresSchema.firstWithNodes
            }
            if hasNodes { try RealmTable.beat(node, isHome: false, connection) }
            beatAt = now
        }
        return try Lease.sight(connection, node)
    }

    /// For a while after the database was away, a free lease is still the home's.
    private func leavingHeadStart(_ sight: RealmSight) -> RealmSight {
        if isAway { (isAway, backAt) = (false, .now) }
        if case .home(let place) = sight { home = place }
        guard sight == .free, let backAt, ContinuousClock.now - backAt < Self.headStart else { return sight }
        return .home(home)
    }

    private func connected() throws(StoreFailure) -> PostgresConnection {
        if let connection { return connection }
        let made = try PostgresConnection(
            address,
            PostgresConnection.Purpose(
                name: "reveille standby", patience: Self.patience, setup: ["SET statement_timeout = '2s'"]))
        connection = made
        return made
    }

    func close() {
        isClosed = true
        timer = nil
        // Otherwise it is silent, and is not counted either.
        if let connection, last != .free { try? RealmTable.remove(node, connection) }
        connection = nil
    }
}

@available(*, unavailable)
extension Watcher: Sendable {}
