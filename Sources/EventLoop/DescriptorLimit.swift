import Glibc

/// How many descriptors this process may have open: each connection takes one.
public enum DescriptorLimit {
    /// The limit as it is; any thread.
    public static var current: Int { Int(clamping: limits.rlim_cur) }

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
        var wanted = limits
        wanted.rlim_cur = min(wanted.rlim_max, rlim_t(clamping: needed))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &wanted)
        return current
    }

    /// All zero where they cannot be read, which Linux has no reason for.
    private static var limits: rlimit {
        var limits = rlimit()
        getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
        return limits
    }
}
