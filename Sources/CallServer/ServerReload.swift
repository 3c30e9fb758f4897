import CallCore
import CallVocabulary
import LibWebSockets
import PushClient
import WebSocketServer

/// What a running server is told anew; nil stays as it is. No session is dropped and no call ended by any of it.
public struct ServerReload: Sendable {
    /// What handshakes show from now on. Only where the server began with TLS.
    public var tls: TLSFiles?
    /// Credentials, endpoints and texts; what of them is the same stays untouched.
    public var push: PushService.Configuration?
    /// For connections that are there too, from their next message on.
    public var connectionLimits: ConnectionLimits?
    /// From the next connection on, all three; the other two only with the first.
    public var maxConnections: Int?
    /// nil for a quarter.
    public var maxConnectionsPerAddress: Int?
    public var proxies: [AddressRange] = []
    /// Lower ones end nothing that is there.
    public var limits: CoreLimits?
    /// Deadlines that are set stay.
    public var timers: CallTimers?
    /// What holds for users without a policy of their own.
    public var policy: UserPolicy?
    /// What the admin API asks for from the next connection on. Only where it listens on TCP.
    @Secret public var adminToken: String?
    /// What the admin API's handshakes show from now on. Only where it began with TLS.
    public var adminTLS: TLSFiles?

    public init(
        tls: TLSFiles? = nil, push: PushService.Configuration? = nil, connectionLimits: ConnectionLimits? = nil,
        maxConnections: Int? = nil, limits: CoreLimits? = nil, timers: CallTimers? = nil, policy: UserPolicy? = nil,
        adminToken: String? = nil, adminTLS: TLSFiles? = nil
    ) {
        self.tls = tls
        self.push = push
        self.connectionLimits = connectionLimits
        self.maxConnections = maxConnections
        self.limits = limits
        self.timers = timers
        self.policy = policy
        self.adminToken = adminToken
        self.adminTLS = adminTLS
    }

    /// What was found good, with everything read that had to be read: applying it cannot fail.
    struct Checked: Sendable {
        let certificate: TLSCertificate?
        let push: PushService.Reload?
        let adminToken: BearerToken?
        let adminCertificate: TLSCertificate?
    }

    /// Reads the files and checks everything, and changes nothing. Blocks on the disk.
    /// - Throws: ``ServerConfigurationError``, `TLSCertificate.Failure` or `PushConfigurationError`.
    func checked() throws -> Checked {
        try checkNumbers()
        return Checked(
            certificate: try tls.map { try TLSCertificate($0) }, push: try push.map { try PushService.Reload($0) },
            adminToken: try adminToken.map { try AdminListenerConfiguration.check($0) },
            adminCertificate: try adminTLS.map { try TLSCertificate($0) })
    }

    private func checkNumbers() throws(ServerConfigurationError) {
        let problems: [(String, String?)] = [
            ("limits", limits?.problem), ("timers", timers?.problem), ("connection_limits", connectionLimits?.problem),
            ("max_connections", (maxConnections ?? 1) < 1 ? "there is at least 1" : nil),
        ]
        for case (let field, let problem?) in problems {
            throw ServerConfigurationError(field: field, problem: problem)
        }
    }
}

extension ConnectionLimits {
    /// What no connection could live with, in words; nil when there is nothing.
    var problem: String? {
        if openWithin <= .zero { return "open_within has to be longer than 0" }
        if !(messagesPerSecond > 0) { return "messages_per_second has to be more than 0" }
        if !(burst >= 1) { return "burst is at least 1" }
        return refusalsUntilAbuse < 1 ? "refusals_until_abuse is at least 1" : nil
    }
}
