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
    /// Where FCM listens; nil: ``standardFCMPort``, or where the system chooses if the production environment does.
    public var fcmPort: UInt16?
    /// The Firebase project that the service account belongs to.
    public var project: String
    /// The app's bundle identifier, as the manifest names it. Phones may register other topics too.
    public var topic: String
    /// Whether a device token that was never issued is taken for a phone that is never reached.
    /// APNs refuses such a token, and so does the simulator by default.
    public var acceptsUnknownTokens = false
    /// Streams a provider may open before its first valid token, and after it.
    public var streamsBeforeAuthorization = 1
    public var streamsAfterAuthorization = 1000
    /// How long an app has to report a VoIP push; what iOS is known to grant by default.
    public var reportWindow = SimulatedIPhone.reportWindow
    /// Auth keys trusted besides the one in the folder.
    public var furtherKeys: [ProviderKey] = []
    /// What the simulator draws its tokens, rates and jitter from; nil: something else at each start.
    public var seed: UInt64?
    /// How far away it seems to be.
    public var roundTrip = Duration.zero
    /// Whether a connection is brought back to ``streamsBeforeAuthorization`` by a provider token that is refused.
    public var limitsStreamsAfterRejection = false
    /// After how many bad device tokens a connection is closed; nil: never.
    public var closesAfterBadTokens: Int?
    /// How many background pushes iOS delivers to an app in ``backgroundPeriod``.
    public var backgroundPushes = SimulatedIPhone.backgroundPushesAnHour
    public var backgroundPeriod = Duration.seconds(3600)
    /// How long an Android app has to show something for a message of high priority.
    public var showWindow = SimulatedAndroidPhone.showWindow
    /// How many streams FCM allows on a connection.
    public var fcmStreams = 100
    /// How long an OAuth access token is good for.
    public var accessTokenLifetime = Duration.seconds(3599)
    public var logger: Logger
    /// Told of every push that is in order, before it is answered. Called on the simulator's loop; must be quick.
    public var onPush: (@Sendable (SeenPush) -> Void)?

    /// FCM's port unless told otherwise.
    public static let standardFCMPort: UInt16 = 2199

    var portOfFCM: UInt16 { fcmPort ?? (productionPort == 0 ? 0 : Self.standardFCMPort) }

    public init(
        folder: String, host: String = "127.0.0.1", productionPort: UInt16 = 2197, sandboxPort: UInt16 = 2198,
        fcmPort: UInt16? = nil, project: String = "reveille-phone", topic: String = "org.reveille.phone",
        logger: Logger = Logger(label: "push-sim")
    ) {
        self.folder = folder
        self.host = host
        self.productionPort = productionPort
        self.sandboxPort = sandboxPort
        self.fcmPort = fcmPort
        self.project = project
        self.topic = topic
        self.logger = logger
    }
}
