import CLibWebSockets
import Foundation
import Glibc
import Synchronization

/// What libwebsockets keeps once for the whole process. Set on purpose, before the first context, from any thread.
enum LWSLibrary {
    /// The newest complaint of the library, for the error of a call that failed.
    private static let lastComplaint = Mutex("")

    /// Runs once. The library ignores SIGPIPE and prints to standard error by itself otherwise (lws 4.1).
    static let isSetUp: Bool = {
        signal(SIGPIPE, SIG_IGN)
        // Errors and warnings only: peers can cause both at will, so they are kept for `complaint` and never printed.
        lws_set_log_level(LLL_ERR | LLL_WARN, keepComplaint)
        return true
    }()

    /// Whether OpenSSL is set up.
    private static let hasTLS = Mutex(false)

    /// Creates a context; the first one with TLS sets OpenSSL up.
    ///
    /// Only the first: the option makes the library draw a new global index for its data in OpenSSL's objects, and the
    /// handshakes that run on other threads at that time then miss theirs and fail (lws 4.1). The price is that the
    /// library frees the TLS settings of the other contexts with the process only.
    static func createContext(_ info: inout lws_context_creation_info, withTLS: Bool) -> OpaquePointer? {
        // As a number through the lock: the pointer is the caller's alone, which the compiler cannot see.
        let address: UInt = hasTLS.withLock { hasTLS in
            let option = UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
            if withTLS, !hasTLS { info.options |= option }
            defer { info.options &= ~option }
            let context = lws_create_context(&info)
            if withTLS, context != nil { hasTLS = true }
            return UInt(bitPattern: context)
        }
        return OpaquePointer(bitPattern: address)
    }

    /// What the library last said of a failure.
    static var complaint: String {
        let text = lastComplaint.withLock { $0 }
        return text.isEmpty ? "the library gives no reason" : text
    }

    /// OpenSSL's words on a certificate, if those were what the library last said: `SSL error: self-signed certificate
    /// (preverify_ok=0;…)`. The error of the connection itself has a number only. They are given once: the next connection
    /// that fails may do so for another reason, of which the library says nothing.
    static func takeVerificationComplaint() -> String? {
        lastComplaint.withLock { text in
            guard let start = text.range(of: "SSL error: "), let end = text.range(of: " (preverify_ok="),
                start.upperBound <= end.lowerBound
            else { return nil }
            defer { text = "" }
            return String(text[start.upperBound..<end.lowerBound])
        }
    }

    fileprivate static func keep(_ line: String) {
        lastComplaint.withLock { $0 = line }
    }
}

/// The library's log sink; may come on any thread that runs a context.
private func keepComplaint(_ level: Int32, _ line: UnsafePointer<CChar>?) {
    guard let line else { return }
    var text = String(cString: line)
    while text.last?.isNewline == true { text.removeLast() }
    LWSLibrary.keep(text)
}
