import Dispatch
import EventLoop
import StoreInterface

/// Watches a realm for a standby, on a thread and a connection of its own, and says that the standby runs.
///
/// May be used from any thread. Must be ended with ``stop()``.
package final class StandbyWatch: Sendable {
    private let loop: EventLoop
    private let watcher: LoopBound<Watcher>

    /// What a standby takes from the realm's contents.
    package struct Shared: Sendable {
        let names: [String]
        let take: @Sendable (_ contents: [String: [UInt8]]) -> String?
        let onNamesake: @Sendable () -> Void

        /// - Parameters:
        ///   - names: of the contents, as for ``Realm/keep(_:_:in:)``.
        ///   - take: called on the watch's thread, again and again, with those that the realm has. Returns what is
        ///     wrong with this node; nil for nothing.
        ///   - onNamesake: called again and again while another process has the node's name.
        package init(
            _ names: [String], take: @escaping @Sendable (_ contents: [String: [UInt8]]) -> String?,
            onNamesake: @escaping @Sendable () -> Void = {}
        ) {
            self.names = names
            self.take = take
            self.onNamesake = onNamesake
        }
    }

    /// Starts the thread.
    /// - Parameter onSight: called on it with the first sight, and with each that differs from the one before.
    package init(
        _ address: PostgresAddress, _ node: RealmNode, _ shared: Shared,
        onSight: @escaping @Sendable (RealmSight) -> Void
    ) throws(StoreFailure) {
        do {
            loop = try EventLoop(name: "standby")
        } catch {
            throw StoreFailure(.inputOutput, path: address.description, detail: "\(error)")
        }
        let watcher = LoopBound(Watcher(address, node, shared, loop, onSight), on: loop)
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
    /// A standby may start before the home has stored what they share, and a file may be replaced later.
    private static let betweenTakes = Duration.seconds(5)
    private static let patience = Duration.seconds(2)
    /// How long an ended lease is left to the home after the database was away for this standby. A home that renews it
    /// goes on with all its connections.
    private static let headStart = Lease.renewal * 3
    /// The home counts its lease from before its renewal was sent. So it has ended when the row was the same for so long
    /// by this process's monotonic clock, whatever the database's clock says.
    private static let longestUnrenewed = Lease.duration + Lease.renewal

    private let address: PostgresAddress
    private let node: RealmNode
    private let shared: StandbyWatch.Shared
    private let loop: EventLoop
    private let onSight: @Sendable (RealmSight) -> Void
    private var connection: PostgresConnection?
    private var timer: LoopTimer?
    private var last: RealmSight?
    /// The lease as it was seen since, without an interruption.
    private var unrenewed: (mark: Lease.Mark, since: ContinuousClock.Instant)?
    /// The home that was seen last.
    private var home = "the one before the database was away"
    /// When the database answered again; nil unless it was away.
    private var backAt: ContinuousClock.Instant?
    private var isAway = false
    private var beatAt: ContinuousClock.Instant?
    private var takenAt: ContinuousClock.Instant?
    /// The version of the realm's tables: the home makes them, and may be of an earlier version.
    private var version = 0
    private var isClosed = false

    init(
        _ address: PostgresAddress, _ node: RealmNode, _ shared: StandbyWatch.Shared, _ loop: EventLoop,
        _ onSight: @escaping @Sendable (RealmSight) -> Void
    ) {
        self.address = address
        self.node = node
        self.shared = shared
        self.loop = loop
        self.onSight = onSight
    }

    func look() {
        guard !isClosed else { return }
        let sight: RealmSight
        do throws(StoreFailure) {
            sight = leavingHeadStart(try attempt())
        } catch {
            let wasConnected = connection != nil
            connection = nil
            isAway = true
            unrenewed = nil
            sight = .unreachable(wasConnected ? SynchronousStandby.explain(error, address) : error)
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
            if version < PostgresSchema.newest {
                // The first home makes the tables.
                guard let version = try PostgresSchema.version(connection) else { return .free }
                self.version = version
            }
            if version >= PostgresSchema.firstWithNodes {
                try RealmTable.beat(node, isHome: false, connection)
                if takenAt.map({ now - $0 >= Self.betweenTakes }) ?? true { try take(connection) }
            }
            beatAt = now
        }
        let seen = try Lease.sight(connection, node)
        try endUnrenewed(seen.mark, connection)
        return seen.sight
    }

    /// Ends a lease that nobody renews, although it goes on by the clock of the database, which is another machine's after
    /// a promotion. The next look finds it free.
    private func endUnrenewed(_ mark: Lease.Mark?, _ connection: PostgresConnection) throws(StoreFailure) {
        guard let mark else { return unrenewed = nil }
        guard let seen = unrenewed, seen.mark == mark else { return unrenewed = (mark, .now) }
        guard ContinuousClock.now - seen.since >= Self.longestUnrenewed else { return }
        try Lease.endUnrenewed(mark, connection)
        unrenewed = nil
    }

    private func take(_ connection: PostgresConnection) throws(StoreFailure) {
        let problem = shared.take(try KeptContent.read(shared.names, connection))
        if version >= PostgresSchema.firstWithProblems {
            try RealmTable.note(problem: problem, of: node, connection)
        }
        // At first it may be the former process of this node, which was killed.
        if takenAt != nil, try RealmTable.hasNamesake(node, connection) { shared.onNamesake() }
        takenAt = .now
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
            address, PostgresConnection.Purpose(name: "reveille standby", patience: Self.patience))
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
