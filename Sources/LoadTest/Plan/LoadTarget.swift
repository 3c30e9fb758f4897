/// The server that the load is put on.
public enum LoadTarget: Sendable {
    /// A server, and for scenarios with pushes a push simulator, of its own: started for the test, stopped and removed
    /// after it.
    case own(OwnServer)
    /// A server that runs already, here or elsewhere.
    case running(RunningServer)

    public struct OwnServer: Sendable {
        /// The `reveille` to run.
        public var executable: String
        /// The server's threads that carry connections.
        public var shards = 1
        /// Further arguments to `reveille serve`.
        public var arguments: [String] = []

        public init(executable: String) { self.executable = executable }
    }

    public struct RunningServer: Sendable {
        /// `ws://host:port` or `wss://host:port`.
        public var url: String
        /// A file with the secret that the server's user tokens are signed with (its data folder's `client-token.key`).
        public var secretFile: String
        /// `http://host:port/metrics` when it is not at the address of ``url``.
        public var metricsURL: String?
        /// The data folder of the push simulator that the server pushes to; nil: no scenario with pushes.
        public var simulatorFolder: String?
        /// The server's own data folder, for its admin API: a fan-out to a group's members sets the group there.
        public var dataFolder: String?

        public init(url: String, secretFile: String) {
            self.url = url
            self.secretFile = secretFile
        }
    }
}
