/// What administrators ask of the process around a server. Any thread.
public struct AdminHooks: Sendable {
    /// Sets what is logged, and says what is logged from now on; nil only asks. Returns nil for no such level.
    public var setLogLevel: @Sendable (String?) -> String?
    /// Ends the process as SIGTERM does.
    public var stop: @Sendable () -> Void

    public init(setLogLevel: @escaping @Sendable (String?) -> String?, stop: @escaping @Sendable () -> Void) {
        self.setLogLevel = setLogLevel
        self.stop = stop
    }
}
