import COpenSSL

/// Why a TLS context or connection failed: the step, a closed reason, and the message of OpenSSL or the system.
public struct TLSFailure: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Hashable, Sendable {
        /// The system refused a call: `ECONNREFUSED`, `ECONNRESET`.
        case system(errno: Int32)
        /// The peer's certificate is not trusted; the code is an `X509_V_ERR_…`, see OpenSSL's `verify(1)`.
        case certificateRejected(code: Int)
        /// OpenSSL failed, or the peer sent an alert; the code is that of `ERR_get_error`.
        case library(code: UInt)
        /// The peer did not agree on the application protocol by ALPN.
        case noAgreement
    }

    /// The step that failed: `TLS handshake with api.push.apple.com`.
    public let operation: String
    public let reason: Reason
    public let text: String

    init(operation: String, reason: Reason, text: String) {
        self.operation = operation
        self.reason = reason
        self.text = text
    }

    public var description: String { "\(operation): \(text)" }
}

extension TLSFailure {
    /// Takes the oldest entry of this thread's OpenSSL error queue, which is the cause, and clears the queue.
    static func ofTLS(_ operation: String) -> TLSFailure {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else {
            return TLSFailure(operation: operation, reason: .library(code: 0), text: "OpenSSL gives no reason")
        }
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(code, &text, text.count)
        // ERR_error_string_n always terminates its text with a zero.
        let words = text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
        return TLSFailure(operation: operation, reason: .library(code: code), text: words)
    }
}
