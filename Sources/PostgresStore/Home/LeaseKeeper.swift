import Dispatch
import EventLoop
import StoreInterface

/// Renews the lease, on a thread and a connection of its own, so that nothing that the store does delays it.
final class LeaseKeeper: Sendable {
    private let loop: EventLoop
    private let worker: LoopBound<LeaseWorker>

    /// Starts the thread.
    /// - Parameter onChange: called after each attempt to renew, on this thread or another.
    init(
        _ address: PostgresAddress, _ node: RealmNode, _ state: LeaseState, every period: Duration = Lease.renewal,
        onChange: @escaping @Sendable () -> Void
    ) throws(StoreFailure) {
        do {
            loop = try EventLoop(name: "lease")
        } catch {
            throw StoreFailure(.inputOutput, path: address.description, detail: "\(error)")
        }
        let worker = LoopBound(LeaseWorker(address, node, state, loop, period, onChange), on: loop)
        self.worker = worker
        loop.start()
        loop.execute { worker.value.renew() }
    }

    /// Says that the node runs from now on, with each renewal: the realm's tables are there.
    func beat() { loop.execute { [worker] in worker.value.beats = true } }

    /// Ends the thread, and returns when it has let go of the lease.
    /// - Parameter givesBack: whether another process may take the lease at once.
    func stop(givesBack: Bool) {
        let isClosed = DispatchSemaphore(value: 0)
        let isTaken = loop.execute { [worker] in
            worker.value.close(givesBack: givesBack)
            isClosed.signal()
        }
        if isTaken { isClosed.wait() }
        loop.stop()
    }
}

/// The part of a ``LeaseKeeper`` that is confined to its thread.
private final class LeaseWorker {
    private static let patience = Duration.seconds(2)

    private let address: PostgresAddress
    private let node: RealmNode
    private let state: LeaseState
    private let period: Duration
    private let onChange: @Sendable () -> Void
    private let loop: EventLoop
    private var connection: PostgresConnection?
    private var hadConnection = false
    private var timer: LoopTimer?
    private var isClosed = false
    var beats = false

    init(
        _ address: PostgresAddress, _ node: RealmNode, _ state: LeaseState, _ loop: EventLoop, _ period: Duration,
        _ onChange: @escaping @Sendable () -> Void
    ) {
        self.address = address
        self.node = node
        self.state = state
        self.loop = loop
        self.period = period
        self.onChange = onChange
    }

    func renew() {
        guard !isClosed else { return }
        let began = ContinuousClock.now
        attempt()
        let timer = timer ?? LoopTimer(loop: loop) { [weak self] in self?.renew() }
        self.timer = timer
        timer.start(after: max(.milliseconds(1), period - (ContinuousClock.now - began)))
    }

    private func attempt() {
        // Also when it has run out: as long as no other process has taken the lease, this one goes on. A home whose
        // commits the database has lost keeps its lease, so that only an operator lets another one go on without them.
        if case .ended(let failure) = state.standing(), failure.reason != .lostCommits { return }
        do throws(StoreFailure) {
            let connection = try connected()
            if let renewal = try Lease.renew(connection, state.key) {
                state.renewed(until: renewal.validUntil, clockOrigin: renewal.clockOrigin)
                if renewal.isHandover { state.askedFor() }
                if beats {
                    try RealmTable.beat(node, isHome: true, connection)
                    state.saw(standbys: try RealmTable.standbys(connection))
                }
            } else {
                state.end(
                    StoreFailure(.fenced, path: address.description, detail: "another process is the realm's home"))
            }
        } catch {
            let wasConnected = connection != nil
            // The next attempt makes a new one.
            connection = nil
            let attempt = state.failed(error, awaitsCause: wasConnected)
            // On another thread: a silent database would keep the next renewal waiting.
            if wasConnected {
                return DispatchQueue.global().async { [state, address, onChange] in
                    state.explained(attempt, as: SynchronousStandby.explain(error, address))
                    onChange()
                }
            }
        }
        onChange()
    }

    private func connected() throws(StoreFailure) -> PostgresConnection {
        if let connection { return connection }
        let made = try PostgresConnection(
            address, PostgresConnection.Purpose(name: Lease.keeperName, patience: Self.patience))
        if hadConnection { state.reconnected() }
        hadConnection = true
        connection = made
        return made
    }

    func close(givesBack: Bool) {
        guard !isClosed else { return }
        isClosed = true
        timer = nil
        let isReachable = state.isReachable
        state.end(StoreFailure(.closed, path: address.description, detail: "the server is stopping"))
        // Otherwise the lease runs out by itself.
        if givesBack, isReachable { try? giveBack() }
        connection = nil
    }

    private func giveBack() throws(StoreFailure) {
        try Lease.giveBack(connected(), state.key)
        if beats { try RealmTable.remove(node, connected()) }
    }
}

@available(*, unavailable)
extension LeaseWorker: Sendable {}
