import Glibc

/// How many descriptors this process may have open: each connection takes one.
public enum DescriptorLimit {
    /// Raises the limit to what the system lets this process have. Before the first connection; any thread.
    /// - Returns: the limit as it is now, also where it could not be raised.
    @discardableResult
    public static func raise() -> Int {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        var raised = limit
        raised.rlim_cur = limit.rlim_max
        if setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &raised) == 0 { limit = raised }
        return Int(clamping: limit.rlim_cur)
    }
}
