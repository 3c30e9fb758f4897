import CLibWebSockets
import Glibc

/// The library's side of one accepted WebSocket. Valid from `socketOpened` until `socketClosed`, on the loop.
package struct ServerSocket {
    let wsi: OpaquePointer
    unowned(unsafe) let context: LWSContext

    /// Proof for `unowned(unsafe)`: the context outlives its sockets, it closes them all before it goes.
    init(wsi: OpaquePointer, context: LWSContext) {
        self.wsi = wsi
        self.context = context
    }

    package var peer: PeerAddress { PeerAddress(descriptor: lws_get_socket_fd(wsi)) }

    /// Whether the library holds bytes that the kernel did not take. While it does, nothing may be written: in lws
    /// 4.1 a write behind a partial one loses track of the frame.
    package var isBlocked: Bool { lws_partial_buffered(wsi) != 0 }

    /// Whether all was read that the peer will ever send: it has ended its half, or the connection is broken.
    package var peerHasEnded: Bool {
        var byte: UInt8 = 0
        let count = recv(lws_get_socket_fd(wsi), &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        return count == 0 || count < 0 && errno != EAGAIN && errno != EINTR
    }

    /// Sends a text message. Only when not ``isBlocked``.
    /// - Returns: false when the connection cannot be written to any more.
    package func write(_ text: UnsafeRawBufferPointer) -> Bool {
        context.writer.write(text, as: LWS_WRITE_TEXT, to: wsi)
    }

    /// Sends frames as they are. Only when not ``isBlocked``, and never after a close frame, whose answer `socketCeased`
    /// tells of. Nothing here waits for it, and until it comes the library still answers pings.
    /// - Returns: false when the connection cannot be written to any more.
    package func write(_ batch: FrameBatch) -> Bool {
        writeWhole(frames: batch.bytes, to: wsi)
    }

    /// Sends a ping. Only when not ``isBlocked``.
    ///
    /// With a payload, which the pong brings back: of an empty pong lws 4.1 does not tell its server.
    package func ping() -> Bool {
        withUnsafeBytes(of: UInt8(0)) { context.writer.write($0, as: LWS_WRITE_PING, to: wsi) }
    }

    /// Has `socketIsWritable` called once everything written has gone to the kernel.
    package func requestWritable() {
        lws_callback_on_writable(wsi)
    }

    /// Ends the connection without a close frame. `socketClosed` follows, never from within this call.
    package func cut() {
        lws_set_timeout(wsi, PENDING_TIMEOUT_KILLED_BY_PARENT, LWS_TO_KILL_ASYNC)
        context.nudge()
    }
}

/// What happens to the sockets of a server context. All calls come on the loop.
///
/// A socket's `owner` is the object that `socketOpened` made for it; the context retains it until `socketClosed`.
package protocol ServerSocketEvents: AnyObject {
    /// A handshake with the right path and subprotocol is done.
    func socketOpened(_ socket: ServerSocket) -> AnyObject
    func socketReceived(_ chunk: MessageChunk, owner: AnyObject)
    /// A pong came.
    func socketAnswered(owner: AnyObject)
    /// What was written has gone to the kernel, after `requestWritable` or a write that blocked.
    func socketIsWritable(owner: AnyObject)
    /// The peer's close frame came, or the connection is about to end without one: nothing may be written any more.
    /// - Returns: whether the peer has had a close frame before, and this is the first that is heard since: the connection
    ///   is over.
    func socketCeased(owner: AnyObject) -> Bool
    func socketClosed(owner: AnyObject)
    /// The answer to a client that may not become a WebSocket, whatever it asks for; nil for one that may.
    func refusal(authorization: String?) -> HTTPResponse?
    /// A client may not become a WebSocket: it asked for a path or subprotocol that is not served, did not speak WebSocket
    /// well enough, or was refused.
    func handshakeRefused()
    /// An adopted descriptor is gone, after `socketClosed` if it was a WebSocket by then.
    func descriptorReleased()
    func requested(_ request: HTTPRequest, _ responder: HTTPResponder)
}
