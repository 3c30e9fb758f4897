import AdminServer
import CallVocabulary
import EventLoop
import LibWebSockets
import TLS
import WebSocketServer

/// The TCP listener of the admin API, and its credential.
public struct AdminListenerConfiguration: Sendable {
    public var address: SocketAddress
    /// The bearer token: at least 16 characters of `A-Z a-z 0-9 - . _ ~ + / =`. It grants all operations.
    @Secret public var token: String
    /// A token for all operations that change nothing; nil for none.
    @Secret public var readToken: String?
    /// A file with the authorities of certificates that clients must show; nil asks for none. Needs `tls`.
    public var clientAuthorities: String?
    /// Common names or DNS names of the clients let in; empty for all with a certificate.
    public var clientNames: [String] = []
    /// Certificate and key for wss; nil for plain ws, which is allowed on loopback addresses only.
    public var tls: TLSFiles?
    /// Allows plain ws on other addresses, behind a proxy that terminates TLS.
    public var isInsecure = false

    public init(address: SocketAddress, token: String, readToken: String? = nil, tls: TLSFiles? = nil) {
        self.address = address
        self.token = token
        self.readToken = readToken
        self.tls = tls
    }

    /// - Throws: ``ServerConfigurationError``.
    func networkListener() throws(ServerConfigurationError) -> AdminService.NetworkListener {
        AdminService.NetworkListener(
            address: address, token: try checkedToken(), readToken: try checkedReadToken(), tls: tls,
            clients: try checkedClients())
    }

    private func checkedReadToken() throws(ServerConfigurationError) -> BearerToken? {
        guard let readToken else { return nil }
        return try Self.check(readToken)
    }

    private func checkedClients() throws(ServerConfigurationError) -> ClientAuthorities? {
        guard let clientAuthorities else { return nil }
        guard tls != nil else {
            throw ServerConfigurationError(
                field: "admin.client_ca", problem: "only a listener with a certificate asks clients for theirs")
        }
        do throws(TLSCertificate.Failure) {
            return try ClientAuthorities(file: clientAuthorities, names: clientNames)
        } catch {
            throw ServerConfigurationError(field: "admin.client_ca", problem: "\(error)")
        }
    }

    /// - Throws: ``ServerConfigurationError``.
    func checkedToken() throws(ServerConfigurationError) -> BearerToken {
        guard address.isLoopback || tls != nil || isInsecure else {
            throw ServerConfigurationError(
                field: "admin.address",
                problem:
                    "\(address) can be reached from other machines, and without TLS the token goes over the wire for "
                    + "all to read: give a certificate, or listen on 127.0.0.1")
        }
        return try Self.check(token)
    }

    /// - Throws: ``ServerConfigurationError``, which does not quote the token.
    static func check(_ token: String) throws(ServerConfigurationError) -> BearerToken {
        guard let token = BearerToken(token) else {
            throw ServerConfigurationError(
                field: "admin.token",
                problem:
                    "a token has at least \(BearerToken.fewestCharacters) characters of A-Z a-z 0-9 - . _ ~ + / =; "
                    + "make one with: openssl rand -hex 32")
        }
        return token
    }
}
