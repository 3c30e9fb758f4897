import Glibc

/// How many descriptors this process may have open: each connection takes one.
public enum DescriptorLimit {
    /// What a server has open besides the connections of its clients, generously: files, connections of the push service and
    /// of administrators.
    private static let besides = 1024

    /// How many a server needs for so many connections of clients.
    public static func needed(forConnections count: Int) -> Int { count + besides }

    /// The limit as it is; 0 where it cannot be read. Any thread.
    public static var current: Int { limits.map { Int(clamping: $0.rlim_cur) } ?? 0 }

    /// Raises the limit to what the system lets this process have. Before the first connection; any thread.
    /// - Returns: the limit as it is now, also where it could not be raised.
    @discardableResult
    public static func raise() -> Int { set(to: .max) }

    /// Sets the limit to what is needed, or to what the system lets this process have where that is less. Before the first
    /// connection; any thread.
    ///
    /// More than that is no use and has a price: libwebsockets (4.1.6 as Debian builds it) goes through a table of that many
    /// places with each connection that comes, and once more when one without TLS goes.
    /// - Returns: the limit as it is now, also where it could not be set.
    @discardableResult
    public static func set(to needed: Int) -> Int {
        guard var wanted = limits else { return 0 }
        wanted.rlim_cur = min(wanted.rlim_max, rlim_t(clamping: needed))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
        return current
    }

    private static var limits: rlimit? {
        var limits = rlimit()
        return getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0 ? limits : nil
    }
}
