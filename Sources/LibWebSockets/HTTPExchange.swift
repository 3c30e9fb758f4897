import CLibWebSockets

/// One request and its answer on an HTTP connection. The library's connection holds it, retained, as its user pointer.
///
///     readingBody ──whole──▶ waiting ──respond──▶ answering ──writable──▶ flushing ──▶ (closed)
///          └──────too large──────────────────────────┘   └──body still coming──▶ discarding
///
/// A connection carries one request: the few clients of plain HTTP here gain nothing from keeping it open, and lws 4.1
/// starts to read the next request before the first is answered.
final class HTTPExchange {
    /// The longest body taken.
    static let maxBodyBytes = 65536
    /// How much of a body that is too large is read and dropped, so that the answer is not lost in a reset.
    private static let maxDiscardedBytes = 1 << 20
    private static let answerSeconds: Int32 = 30
    private static let discardSeconds: Int32 = 2

    private enum State {
        case readingBody
        case waiting
        case answering([UInt8])
        case flushing
        case discarding(bytes: Int)
    }

    /// nil once the connection is gone.
    private var wsi: OpaquePointer?
    private unowned(unsafe) let context: LWSContext
    private let head: HTTPRequest
    private let contentLength: Int
    private var body: [UInt8] = []
    private var state = State.readingBody

    /// Proof for `unowned(unsafe)`: `context` is used only while `wsi` is set, and outlives it.
    init(wsi: OpaquePointer, context: LWSContext, head: HTTPRequest, contentLength: Int) {
        self.wsi = wsi
        self.context = context
        self.head = head
        self.contentLength = contentLength
    }

    /// The headers are in.
    /// - Returns: whether the connection may go on.
    func begin() -> Bool {
        if contentLength > Self.maxBodyBytes {
            respond(.text("the body is longer than \(Self.maxBodyBytes) bytes\n", status: 413))
            return true
        }
        return contentLength > 0 || bodyEnded()
    }

    /// - Returns: whether the connection may go on.
    func received(_ bytes: UnsafeRawBufferPointer) -> Bool {
        switch state {
        case .readingBody:
            guard body.count + bytes.count <= contentLength else { return false }
            body.append(contentsOf: bytes)
            return true
        case .waiting, .answering, .flushing: return true
        case .discarding(let count):
            state = .discarding(bytes: count + bytes.count)
            return count + bytes.count <= Self.maxDiscardedBytes
        }
    }

    /// - Returns: whether the connection may go on.
    func bodyEnded() -> Bool {
        switch state {
        case .readingBody: break
        case .waiting, .answering, .flushing: return true
        case .discarding: return false
        }
        guard let wsi, case .server(let server) = context.role else { return false }
        state = .waiting
        lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Self.answerSeconds)
        let request = HTTPRequest(
            method: head.method, path: head.path, query: head.query, authorization: head.authorization,
            contentType: head.contentType, body: body)
        body = []
        server.events.requested(request, HTTPResponder(exchange: self))
        return true
    }

    func respond(_ response: HTTPResponse) {
        guard let wsi else { return }
        switch state {
        case .answering, .flushing, .discarding: return
        case .readingBody, .waiting:
            state = .answering(response.encoded(withBody: head.method != .head))
            lws_callback_on_writable(wsi)
        }
    }

    /// - Returns: whether the connection may go on.
    func isWritable() -> Bool {
        guard let wsi else { return false }
        switch state {
        case .readingBody, .waiting, .discarding: return true
        case .flushing: return lws_partial_buffered(wsi) != 0
        case .answering(let bytes):
            guard bytes.withUnsafeBytes({ context.writer.write($0, as: LWS_WRITE_HTTP_FINAL, to: wsi) }) else {
                return false
            }
            if contentLength > Self.maxBodyBytes {
                state = .discarding(bytes: 0)
                lws_set_timeout(wsi, PENDING_TIMEOUT_HTTP_CONTENT, Self.discardSeconds)
                return true
            }
            state = .flushing
            return lws_partial_buffered(wsi) != 0
        }
    }

    func connectionClosed() {
        wsi = nil
    }
}
