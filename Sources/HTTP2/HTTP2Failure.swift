import TLS

/// Why a connection or a TLS context failed: the step, a closed reason, and the library's message.
public struct HTTP2Failure: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Hashable, Sendable {
        /// The system refused a call: `ECONNREFUSED`, `ECONNRESET`.
        case system(errno: Int32)
        /// Connecting and the TLS handshake together took longer than allowed.
        case timedOut
        /// The peer ended the connection during the handshake or while streams were open.
        case endedByPeer
        /// The peer's certificate is not trusted; the code is an `X509_V_ERR_…`, see OpenSSL's `verify(1)`.
        case certificateRejected(code: Int)
        /// OpenSSL failed, or the peer sent an alert; the code is that of `ERR_get_error`.
        case tls(code: UInt)
        /// The peer speaks TLS but did not agree on `h2` by ALPN.
        case notHTTP2
        /// The peer broke the HTTP/2 protocol, or nghttp2 failed; the code is an `NGHTTP2_ERR_…`.
        case session(code: Int32)
    }

    /// The step that failed: `TLS handshake with api.push.apple.com`.
    public let operation: String
    public let reason: Reason
    /// The message of the system, OpenSSL or nghttp2.
    public let text: String

    public init(operation: String, reason: Reason, text: String) {
        self.operation = operation
        self.reason = reason
        self.text = text
    }

    public var description: String { "\(operation): \(text)" }

    /// A failure of TLS below HTTP/2.
    init(_ failure: TLSFailure) {
        let reason: Reason =
            switch failure.reason {
            case .system(let errno): .system(errno: errno)
            case .certificateRejected(let code): .certificateRejected(code: code)
            case .library(let code): .tls(code: code)
            case .noAgreement: .notHTTP2
            }
        self.init(operation: failure.operation, reason: reason, text: failure.text)
    }
}
