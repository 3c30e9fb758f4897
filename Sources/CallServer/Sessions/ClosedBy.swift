import CallVocabulary
import WebSocketServer

/// The side that ended a connection: `by` in log lines and in `reveille_connections_closed_total`.
enum ClosedBy: String, CaseIterable, Sendable {
    case client, server
    /// Neither side closed it: the connection broke.
    case network

    init(_ ending: WebSocketConnection.Ending) {
        switch ending {
        case .client: self = .client
        case .server: self = .server
        case .network: self = .network
        }
    }
}

/// The label `code` of `reveille_connections_closed_total`. Clients may send any code, so only known ones have a label
/// of their own.
enum ClosedCode {
    static let none = "none"
    static let other = "other"
    /// Codes that client libraries send by themselves (RFC 6455, 7.4.1), besides the protocol's.
    private static let clients: [UInt16] = [1001, 1008, 1009, 1011]
    static let known = CloseCode.allCases.map(\.rawValue) + clients
    static let all = [none, other] + known.map { "\($0)" }

    /// The index in ``all``.
    static func index(_ code: UInt16?) -> Int {
        guard let code else { return 0 }
        return known.firstIndex(of: code).map { $0 + 2 } ?? 1
    }
}

extension WebSocketConnection.Ending {
    /// nil when there was no close frame with a code.
    var code: UInt16? {
        switch self {
        case .server(let code): code
        case .client(let code): code
        case .network: nil
        }
    }
}
