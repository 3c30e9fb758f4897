import Glibc
import Synchronization

/// How many descriptors this process may have open: each connection takes one.
public enum DescriptorLimit {
    /// What a server has open besides the connections of its clients, generously: files, connections of the push service and
    /// of administrators, and what libwebsockets has for itself, ten for each of some 32 contexts at most.
    private static let besides = 1024
    /// Held by whoever changes the limit, and by whoever is not to see it while it is lowered.
    private static let lock = Mutex(())

    /// What stays free of connections at least: for the store's files, connections of the push service, 64 administrators on
    /// each of their listeners, and each loop's own.
    private static let fewestBesides = 256

    /// How many connections of clients a process may have that may open so many descriptors. The rest is kept for what the
    /// server needs to serve them: its store, its pushes, its administrators.
    public static func connections(within limit: Int) -> Int {
        max(1, limit - min(besides, max(fewestBesides, limit / 4)))
    }

    /// How many a server needs for so many connections of clients.
    public static func needed(forConnections count: Int) -> Int { count + besides }

    /// The limit as it is; 0 where it cannot be read. Any thread.
    public static var current: Int { lock.withLock { _ in limits.map { Int(clamping: $0.rlim_cur) } ?? 0 } }

    /// Raises the limit to what the system lets this process have. Before the first connection; any thread.
    /// - Returns: the limit as it is now, also where it could not be raised.
    @discardableResult
    public static func raise() -> Int { set(to: .max) }

    /// Sets the limit to what is needed, or to what the system lets this process have where that is less. Before the first
    /// connection; any thread.
    ///
    /// More than that is no use: it is what libwebsockets and others make tables of.
    /// - Returns: the limit as it is now, also where it could not be set.
    @discardableResult
    public static func set(to needed: Int) -> Int { change { _ in needed } }

    /// Raises the limit to what is needed, where it is lower. Otherwise as ``set(to:)``.
    @discardableResult
    public static func provide(_ needed: Int) -> Int { change { max(needed, $0) } }

    private static func change(_ wanted: (_ current: Int) -> Int) -> Int {
        lock.withLock { _ in
            guard let before = limits else { return 0 }
            store(min(before.rlim_max, rlim_t(clamping: wanted(Int(clamping: before.rlim_cur)))), in: before)
            return limits.map { Int(clamping: $0.rlim_cur) } ?? 0
        }
    }

    /// Runs `body` while the limit is no more than `count`, for a library that makes tables for it, and nobody else changes
    /// it. Any thread.
    ///
    /// What is open stays so, whatever its number. Other threads cannot open anything meanwhile where all lower numbers
    /// are taken. Whoever asks for the limit here waits; `body` must not.
    /// - Parameter body: is given the limit as it is now, which is all that `Int` has where it cannot be read.
    public static func lowered<Result>(to count: Int, _ body: (_ limit: Int) throws -> Result) rethrows -> Result {
        try lock.withLock { _ in
            guard let limits else { return try body(.max) }
            guard limits.rlim_cur > rlim_t(clamping: count) else { return try body(Int(clamping: limits.rlim_cur)) }
            store(rlim_t(clamping: count), in: limits)
            defer { store(limits.rlim_cur, in: limits) }
            return try body(count)
        }
    }

    private static func store(_ count: rlim_t, in limits: rlimit) {
        var wanted = limits
        wanted.rlim_cur = count
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
    }

    private static var limits: rlimit? {
        var limits = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 ? limits : nil
    }
}
