import AdminKit
import ArgumentParser
import CallServer
import EventLoop
import LibWebSockets
import ServerSettings
import TLS

/// Where a server's admin API is.
enum AdminAddress: Sendable {
    /// The socket in the data folder that the server runs on.
    case folder(DataFolder)
    /// A socket by its path.
    case socket(SocketAddress)
    case url(WebSocketURL, token: String, LWSContext.Trust, TLSFiles?)

    /// - Parameters:
    ///   - trust: which certificates a server at a URL may show.
    ///   - identity: the certificate to show at a URL.
    ///   - source: what the name was given by, for words about it.
    init(
        _ name: String, token: String?, trust: LWSContext.Trust = .system, identity: TLSFiles? = nil,
        source: String
    ) throws(ValidationError) {
        guard name.contains("://") else {
            guard !name.isEmpty, let socket = try? SocketAddress(path: name) else {
                throw ValidationError(
                    "\(source): \(ShownText.quoted(name)) is no path of a socket (1 to \(SocketAddress.longestPath) bytes)."
                )
            }
            self = .socket(socket)
            return
        }
        guard let url = WebSocketURL(name) else {
            throw ValidationError("\(source): \(ShownText.quoted(name)) is neither ws://host:port nor wss://host:port.")
        }
        // A name may lead anywhere, such as 127.example.org.
        guard url.isSecure || SocketAddress(host: url.host, port: url.port)?.isLoopback == true else {
            throw ValidationError(
                "\(source): on the way to \(url.host) everybody could read the token; say wss://, or use a tunnel to this machine."
            )
        }
        guard let token, !token.isEmpty else {
            throw ValidationError(
                "A server at a URL asks for a token: give --token, or set REVEILLE_TOKEN to the one it has."
            )
        }
        self = .url(url, token: token, trust, identity)
    }

    /// How it is spoken of.
    var words: String {
        switch self {
        case .folder(let folder): "on \(folder.path)"
        case .socket(let socket): "at \(socket)"
        case .url(let url, _, _, _): "at \(url)"
        }
    }

    /// nil for a server that is reached over TCP, and for a folder whose path is too long for a socket.
    var socket: SocketAddress? {
        switch self {
        case .folder(let folder): try? folder.adminSocket()
        case .socket(let socket): socket
        case .url: nil
        }
    }

    func connect(patience: Duration = AdminClient.standardPatience) throws -> AdminClient {
        switch self {
        case .folder(let folder): try AdminClient(socket: folder.adminSocket(), patience: patience)
        case .socket(let socket): try AdminClient(socket: socket, patience: patience)
        case .url(let url, let token, let trust, let identity):
            try AdminClient(url: url, token: token, trust: trust, identity: identity, patience: patience)
        }
    }
}
