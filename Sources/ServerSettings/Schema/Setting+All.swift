extension Setting {
    /// A heading of the reference file, and what is below it.
    public struct Section: Sendable {
        public let title: String
        public let settings: [Setting]
    }

    /// Every setting there is, in the order of the reference file.
    public static let sections: [Section] = [
        Section(title: "The server", settings: [.data, .store, .storeUnencryptedDatabase, .realm, .node, .shards]),
        Section(
            title: "Where clients connect",
            settings: [
                .listenHost, .listenPort, .listenInsecure, .listenProxies, .listenProxyProtocol, .listenOrigins,
                .tlsCertificate, .tlsKey,
            ]),
        Section(title: "Web pages", settings: [.webRoot, .webSignInByName]),
        Section(title: "Tokens of users", settings: tokens),
        Section(title: "Backends", settings: [.backendTokensFile]),
        Section(
            title: "Authorization of calls by a backend",
            settings: [.authorizeURL, .authorizeSecretFile, .authorizeSessions, .authorizeTimeout, .authorizeOnFailure]),
        Section(title: "TURN servers", settings: [.turnURLs, .turnSecretFile, .turnSeconds]),
        Section(title: "Calls and sessions", settings: calls),
        Section(title: "Pushes", settings: pushes),
        Section(title: "Events for other systems (webhooks)", settings: [.webhooksFile]),
        Section(
            title: "What is kept", settings: [.retentionCalls, .retentionPushes, .retentionMissed, .retentionEvents]),
        Section(title: "Limits", settings: limits),
        Section(title: "Logs and metrics", settings: [.logLevel, .logFormat, .metricsListen]),
        Section(
            title: "Administration beyond the socket in the data folder",
            settings: [.adminListen, .adminTokenFile, .adminReadTokenFile, .adminClientCA, .adminClientNames]),
        Section(title: "For the other commands; the server makes no use of these", settings: [.server, .token]),
    ]

    public static let all: [Setting] = sections.flatMap(\.settings)

    package static let byKey: [String: Setting] = Dictionary(uniqueKeysWithValues: all.map { ($0.key, $0) })

    private static let calls: [Setting] = [
        .ringSeconds, .huntStepSeconds, .connectSeconds, .deliverySeconds, .reportSeconds,
        .callWaiting, .decline, .resumeSeconds, .openSeconds,
    ]
    private static let tokens: [Setting] = [
        .tokenSecretFile, .tokenKeys, .tokenKeysURL, .tokenIssuer, .tokenAudience, .tokenUserClaim, .tokenLeewaySeconds,
    ]
    private static let pushes: [Setting] = [
        .missedCalls, .noticeSeconds, .apnsKey, .apnsKeyID, .apnsTeamID, .apnsCertificate, .apnsCertificateKey,
        .apnsPort, .fcmServiceAccount, .fcmIOSAlerts, .webPushSubject, .webPushKey, .webPushHosts, .incomingCallText,
        .incomingVideoCallText, .missedCallText,
        .pushTemplates, .pushProfiles,
        .pushSimulator, .pushSimulatorData,
    ]
    private static let limits: [Setting] =
        [
            .ringTimeSeconds, .callSeconds, .deviceDays, .connections, .connectionsPerAddress, .unreadBytes,
            .messagesPerSecond, .messageBurst, .refusedMessages,
        ] + ofRates.map(\.setting) + ofCore.map(\.setting)
}
