import Glibc
import Synchronization

/// The limit on open file descriptors of this process: each connection takes one.
public enum DescriptorLimit {
    /// A generous bound on a server's descriptors besides client connections: files, push and admin connections, and
    /// those of libwebsockets, ten for each of at most 32 contexts or so.
    private static let besides = 1024
    /// Held while the limit changes, and while it is read.
    private static let lock = Mutex(())

    /// The descriptors never given to client connections: for the store's files, push connections, 64 administrators on
    /// each of their listeners, and each loop's own.
    private static let fewestBesides = 256

    /// The fewest with which a server starts: enough for 64 connections.
    public static let fewest = fewestBesides + 64

    /// This process may have fewer.
    public struct TooFew: Error, CustomStringConvertible, Sendable {
        /// The limit, after it was raised as far as it can be.
        public let limit: Int

        public init(limit: Int) { self.limit = limit }

        public var description: String {
            "this process may open \(limit) files, and a server needs \(DescriptorLimit.fewest) at least: "
                + "raise its hard limit (LimitNOFILE, ulimit -Hn)"
        }
    }

    /// The most client connections under a limit on descriptors. The rest is reserved for the store, pushes and
    /// administrators.
    public static func connections(within limit: Int) -> Int {
        max(1, limit - min(besides, max(fewestBesides, limit / 4)))
    }

    /// The limit that a number of client connections needs.
    public static func needed(forConnections count: Int) -> Int { count + besides }

    /// The present limit; 0 if it cannot be read. Any thread.
    public static var current: Int { lock.withLock { _ in limits.map { Int(clamping: $0.rlim_cur) } ?? 0 } }

    /// Raises the limit to the hard limit. Call it before the first connection; any thread.
    /// - Returns: the limit afterwards, also if it was not raised.
    @discardableResult
    public static func raise() -> Int { set(to: .max) }

    /// Sets the limit to the number, or to the hard limit if that is lower. Call it before the first connection; any
    /// thread.
    ///
    /// A higher limit costs memory: libwebsockets and other libraries allocate tables of this size.
    /// - Returns: the limit afterwards, also if it was not set.
    @discardableResult
    public static func set(to needed: Int) -> Int { change { _ in needed } }

    /// Raises the limit if it is below the number; otherwise as ``set(to:)``.
    @discardableResult
    public static func provide(_ needed: Int) -> Int { change { max(needed, $0) } }

    private static func change(_ wanted: (_ current: Int) -> Int) -> Int {
        lock.withLock { _ in
            guard let before = limits else { return 0 }
            store(min(before.rlim_max, rlim_t(clamping: wanted(Int(clamping: before.rlim_cur)))), in: before)
            return limits.map { Int(clamping: $0.rlim_cur) } ?? 0
        }
    }

    /// Runs `body` while the limit is at most `count`, for a library that allocates tables of that size. Any thread.
    ///
    /// Open descriptors stay open, whatever their number. While the limit is low, other threads cannot open descriptors
    /// if all lower numbers are taken. Other users of this type wait, so `body` must not use it.
    /// - Parameter body: gets the limit in effect; `Int.max` if the limit cannot be read.
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
