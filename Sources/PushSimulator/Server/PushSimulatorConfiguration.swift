import Logging

public struct PushSimulatorConfiguration: Sendable {
    /// The data folder, created if missing. ``PushSimulatorManifest`` describes its content.
    public var folder: String
    /// The numeric address to listen on, or `localhost`.
    public var host: String
    /// The port of the production environment; 0 lets the system choose. Apple's alternative port is 2197.
    public var productionPort: UInt16
    public var sandboxPort: UInt16
    /// The port of FCM. nil means ``standardFCMPort``, or 0 if `productionPort` is 0.
    public var fcmPort: UInt16?
    /// The port of Web Push. nil means ``standardWebPushPort``, or 0 if `productionPort` is 0.
    public var webPushPort: UInt16?
    /// The Firebase project of the service account.
    public var project: String
    /// The app's bundle identifier in the manifest. Phones may register other topics too.
    public var topic: String
    /// Whether an unknown device token is treated as an unreachable phone. By default it is refused, as by APNs.
    public var acceptsUnknownTokens = false
    /// The stream limit of a provider before its first valid token, and after it.
    public var streamsBeforeAuthorization = 1
    public var streamsAfterAuthorization = 1000
    /// How long an app may take to report a VoIP push; the default is that of iOS.
    public var reportWindow = SimulatedIPhone.reportWindow
    /// Trusted auth keys besides the one in the folder.
    public var furtherKeys: [ProviderKey] = []
    /// The seed for tokens, rates and jitter; nil for a random one.
    public var seed: UInt64?
    public var roundTrip = Duration.zero
    /// Whether a refused provider token resets a connection to ``streamsBeforeAuthorization``.
    public var limitsStreamsAfterRejection = false
    /// The bad device tokens after which a connection is closed; nil for no limit.
    public var closesAfterBadTokens: Int?
    /// The background pushes iOS delivers to an app in ``backgroundPeriod``.
    public var backgroundPushes = SimulatedIPhone.backgroundPushesAnHour
    public var backgroundPeriod = Duration.seconds(3600)
    /// How long an Android app may take to show a notification for a message of high priority.
    public var showWindow = SimulatedAndroidPhone.showWindow
    /// The stream limit of a connection to FCM.
    public var fcmStreams = 100
    /// The stream limit of a connection to the Web Push service.
    public var webPushStreams = 100
    /// How long a service worker may take to show a notification.
    public var notificationWindow = SimulatedBrowser.showWindow
    public var accessTokenLifetime = Duration.seconds(3599)
    public var logger: Logger
    /// Called with each push that passed all checks, before its response. On the simulator's loop; must not block.
    public var onPush: (@Sendable (SeenPush) -> Void)?
    /// The same for pushes to browsers.
    public var onWebPush: (@Sendable (SeenWebPush) -> Void)?

    public static let standardFCMPort: UInt16 = 2199
    public static let standardWebPushPort: UInt16 = 2200

    var portOfFCM: UInt16 { fcmPort ?? (productionPort == 0 ? 0 : Self.standardFCMPort) }
    var portOfWebPush: UInt16 { webPushPort ?? (productionPort == 0 ? 0 : Self.standardWebPushPort) }

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
