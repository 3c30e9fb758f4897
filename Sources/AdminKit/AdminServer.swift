import AdminProtocol
import EventLoop
import Glibc
import LibWebSockets
import TLS

/// The address of an admin API, with its credentials.
enum AdminServer {
    case socket(SocketAddress)
    case network(WebSocketURL, token: String, LWSContext.Trust, TLSFiles?)

    var url: WebSocketURL {
        switch self {
        // HTTP/1.1 requires a host; the server ignores it.
        case .socket: WebSocketURL(isSecure: false, host: "localhost", port: 80, path: AdminEndpoint.path)
        case .network(let url, _, _, _) where url.path == "/":
            WebSocketURL(isSecure: url.isSecure, host: url.host, port: url.port, path: AdminEndpoint.path)
        case .network(let url, _, _, _): url
        }
    }

    var socket: SocketAddress? {
        switch self {
        case .socket(let socket): socket
        case .network: nil
        }
    }

    var authorization: String? {
        switch self {
        case .socket: nil
        case .network(_, let token, _, _): "Bearer \(token)"
        }
    }

    var trust: LWSContext.Trust {
        switch self {
        case .socket: .system
        case .network(_, _, let trust, _): trust
        }
    }

    /// The certificate that the client shows.
    var identity: TLSFiles? {
        switch self {
        case .socket: nil
        case .network(_, _, _, let identity): identity
        }
    }

    /// The failure to report for a connection that never opened.
    func failure(_ failure: WebSocketFailure) -> AdminFailure {
        switch failure {
        case .unauthorized: .tokenRefused
        case .untrusted(let words): .untrusted(words)
        case .unreachable(let words): unreachable(words)
        }
    }

    /// For a Unix socket, libwebsockets only reports that the connection failed.
    private func unreachable(_ words: String) -> AdminFailure {
        guard let socket else { return .unreachable("\(url): \(words)") }
        let path = socket.description
        do {
            try socket.probe()
            return .unreachable(
                "\(path) is answered, but not by an admin API of this version; a server that stands by has none: see "
                    + "reveille cluster status (\(words))")
        } catch {
            switch error.errno {
            case ENOENT, ECONNREFUSED, ENOTDIR: return .notRunning(socket: path)
            case EACCES, EPERM: return .notAllowed(socket: path)
            default: return .unreachable("\(error)")
            }
        }
    }
}
