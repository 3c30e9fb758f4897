import Logging

/// How a simulator is set up.
public struct PushSimulatorConfiguration: Sendable {
    /// The data folder; made if it is missing. See ``PushSimulatorManifest`` for what a server reads there.
    public var folder: String
    /// The numeric address to listen on, or `localhost`.
    public var host: String
    /// Where the production environment listens; 0 lets the system choose. Apple's alternative port is 2197.
    public var productionPort: UInt16
    public var sandboxPort: UInt16
    /// The app's bundle identifier, as the manifest names it. Phones may register other topics too.
    public var topic: String
    /// Whether a device token that was never issued is taken for a phone that is never reached.
    /// APNs refuses such a token, and so does the simulator by default.
    public var acceptsUnknownTokens: Bool
    /// Streams a provider may open before its first valid token, and after it.
    public var streamsBeforeAuthorization: Int
    public var streamsAfterAuthorization: Int
    /// How long an app has to report a VoIP push; what iOS is known to grant by default.
    public var reportWindow: Duration
    /// Auth keys trusted besides the one in the folder.
    public var furtherKeys: [ProviderKey]
    public var logger: Logger

    public init(
        folder: String, host: String = "127.0.0.1", productionPort: UInt16 = 2197, sandboxPort: UInt16 = 2198,
        topic: String = "org.reveille.phone", acceptsUnknownTokens: Bool = false, streamsBeforeAuthorization: Int = 1,
        streamsAfterAuthorization: Int = 1000, reportWindow: Duration = SimulatedIPhone.reportWindow,
        furtherKeys: [ProviderKey] = [], logger: Logger = Logger(label: "push-sim")
    ) {
        self.folder = folder
        self.host = host
        self.productionPort = productionPort
        self.sandboxPort = sandboxPort
        self.topic = topic
        self.acceptsUnknownTokens = acceptsUnknownTokens
        self.streamsBeforeAuthorization = streamsBeforeAuthorization
        self.streamsAfterAuthorization = streamsAfterAuthorization
        self.reportWindow = reportWindow
        self.furtherKeys = furtherKeys
        self.logger = logger
    }
}
