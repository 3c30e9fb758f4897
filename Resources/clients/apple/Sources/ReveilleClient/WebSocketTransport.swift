import Foundation

/// Opens WebSockets for a ``Softphone``: ``URLSessionTransport``, or one of the app's own.
public protocol WebSocketTransport: Sendable {
    /// Opens a connection to `url` and returns at once.
    /// - Parameters:
    ///   - subprotocol: to request; a server that chooses none is closed by ``WebSocketEvent/closed(code:reason:)``.
    ///   - onEvent: called from any thread, one call at a time and in order; `closed` comes last, and once.
    func connect(
        to url: URL, subprotocol: String, onEvent: @escaping @Sendable (WebSocketEvent) -> Void
    ) -> any WebSocketConnection
}

/// An open or opening WebSocket. Any thread.
public protocol WebSocketConnection: Sendable {
    /// Sends a text frame. Frames are sent in the order of the calls; one that fails ends the connection.
    func send(_ text: String)

    /// Closes the connection. `closed` may still follow.
    func close(code: UInt16)
}

public enum WebSocketEvent: Equatable, Sendable {
    case opened
    /// A text frame, as UTF-8.
    case received([UInt8])
    /// A binary frame, which no server of this protocol sends.
    case receivedBinary
    /// The connection has ended, or could not be opened. `code` is nil without a close frame.
    case closed(code: UInt16?, reason: String)
}
