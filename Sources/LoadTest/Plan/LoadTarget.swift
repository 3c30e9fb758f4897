import StoreInterface

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
        /// The server's threads that carry connections. One alone, without TLS, shares the core's.
        public var shards = 1
        /// Clients reach it by TLS, with a certificate that is made for the run.
        public var usesTLS = false
        /// The folder in which the run has its own, for the server's data; nil: the system's for temporary files.
        public var dataFolder: String?
        /// The database for its records, in a realm of the run's own, which is removed at the end; nil for SQLite.
        public var store: PostgresAddress?
        /// How often the home is killed; the run has two servers and HAProxy then. Needs ``store``; nil for one server.
        public var killsHomeEvery: Duration?
        /// Further arguments to `reveille serve`.
        public var arguments: [String] = []

        public init(executable: String) { self.executable = executable }
    }

    /// Where the run's own server stores its data, if not in a folder.
    var database: PostgresAddress? { if case .own(let server) = self { server.store } else { nil } }

    /// Whether the run ends sessions by what it does to its servers.
    var losesSessions: Bool { if case .own(let server) = self { server.killsHomeEvery != nil } else { false } }

    public struct RunningServer: Sendable {
        /// `ws://host:port` or `wss://host:port`.
        public var url: String
        /// A file with the secret that the server's user tokens are signed with (its data folder's `client-token.key`).
        public var secretFile: String
        /// `http://` or `https://`. nil: what the admin API says, or the standard port.
        public var metricsURL: String?
        /// The certificates, in PEM, that it may show, and no others; nil: those that the system trusts.
        public var caFile: String?
        /// The data folder of the push simulator that the server pushes to; nil: no scenario with pushes.
        public var simulatorFolder: String?
        /// Where its books are read, and a group is set; nil: nowhere.
        public var admin: Admin?

        public init(url: String, secretFile: String) {
            self.url = url
            self.secretFile = secretFile
        }
    }

    /// Where a server's admin API is.
    public enum Admin: Sendable {
        /// The socket in the server's data folder.
        case folder(String)
        /// A socket by its path.
        case socket(String)
        /// `ws://host:port` or `wss://host:port`.
        case url(String, token: String)
    }
}
