import AdminProtocol
import EventLoop
import Glibc
import LibWebSockets

/// Where an admin API is, and what opens it.
enum AdminServer {
    case socket(SocketAddress)
    case network(WebSocketURL, token: String, LWSContext.Trust)

    var url: WebSocketURL {
        switch self {
        // The host is what HTTP/1.1 asks for; nobody looks at it.
        case .socket: WebSocketURL(isSecure: false, host: "localhost", port: 80, path: AdminEndpoint.path)
        case .network(let url, _, _) where url.path == "/":
            WebSocketURL(isSecure: url.isSecure, host: url.host, port: url.port, path: AdminEndpoint.path)
        case .network(let url, _, _): url
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
        case .network(_, let token, _): "Bearer \(token)"
        }
    }

    var trust: LWSContext.Trust {
        switch self {
        case .socket: .system
        case .network(_, _, let trust): trust
        }
    }

    /// What it means that the connection never opened.
    func failure(_ failure: WebSocketFailure) -> AdminFailure {
        switch failure {
        case .unauthorized: .tokenRefused
        case .untrusted(let words): .untrusted(words)
        case .unreachable(let words): unreachable(words)
        }
    }

    /// Of a socket the library only says that it did not get there.
    private func unreachable(_ words: String) -> AdminFailure {
        guard let socket else { return .unreachable("\(url): \(words)") }
        let path = socket.description
        do {
            try socket.probe()
            return .unreachable("\(path) is answered, but not by an admin API of this version (\(words))")
        } catch {
            switch error.errno {
            case ENOENT, ECONNREFUSED, ENOTDIR: return .notRunning(socket: path)
            case EACCES, EPERM: return .notAllowed(socket: path)
            default: return .unreachable("\(error)")
            }
        }
    }
}
