/// Administrators' operations on the process that runs the server. May be called from any thread.
public struct AdminHooks: Sendable {
    /// Sets the log level and returns the present one; nil only returns it. Returns nil for an unknown level.
    public var setLogLevel: @Sendable (String?) -> String?
    /// Ends the process, as SIGTERM does.
    public var stop: @Sendable () -> Void

    public init(setLogLevel: @escaping @Sendable (String?) -> String?, stop: @escaping @Sendable () -> Void) {
        self.setLogLevel = setLogLevel
        self.stop = stop
    }
}
