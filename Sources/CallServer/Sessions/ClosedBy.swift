import CallVocabulary
import WebSocketServer

/// Who ended a connection, as `by` of lines and of `reveille_connections_closed_total`.
enum ClosedBy: String, CaseIterable, Sendable {
    case client, server
    /// Nobody closed it: it broke.
    case network

    init(_ ending: WebSocketConnection.Ending) {
        switch ending {
        case .client: self = .client
        case .server: self = .server
        case .network: self = .network
        }
    }
}

/// The label `code` of `reveille_connections_closed_total`. Clients send what they like, so that only known codes are told
/// apart.
enum ClosedCode {
    static let none = "none"
    static let other = "other"
    /// Those that clients' libraries send of their own (RFC 6455, 7.4.1), besides the protocol's.
    private static let clients: [UInt16] = [1001, 1002, 1008, 1009, 1011]
    static let known = CloseCode.allCases.map(\.rawValue) + clients
    static let all = [none, other] + known.map { "\($0)" }

    /// The place in ``all``.
    static func index(_ code: UInt16?) -> Int {
        guard let code else { return 0 }
        return known.firstIndex(of: code).map { $0 + 2 } ?? 1
    }
}

extension WebSocketConnection.Ending {
    /// nil where no close frame had one.
    var code: UInt16? {
        switch self {
        case .server(let code): code
        case .client(let code): code
        case .network: nil
        }
    }
}
