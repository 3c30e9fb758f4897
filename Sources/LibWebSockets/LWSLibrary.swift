import CLibWebSockets
import Foundation
import Glibc
import Synchronization

/// The process-wide state of libwebsockets. Set up before the first context, from any thread.
enum LWSLibrary {
    /// The library's latest error message on this thread, for the error of a failed call: loops of other threads have
    /// messages at the same time.
    private static var lastComplaint: String {
        get { Thread.current.threadDictionary["LWSLibrary.lastComplaint"] as? String ?? "" }
        set { Thread.current.threadDictionary["LWSLibrary.lastComplaint"] = newValue }
    }

    /// Runs once. Ignores SIGPIPE, as the library would by itself, and disables its output on standard error (lws 4.1).
    static let isSetUp: Bool = {
        signal(SIGPIPE, SIG_IGN)
        // Errors and warnings only. Peers can cause both at will, so they are kept for `complaint` and not printed.
        lws_set_log_level(LLL_ERR | LLL_WARN, keepComplaint)
        return true
    }()

    private static let hasTLS = Mutex(false)

    /// Creates a context; the first context with TLS sets OpenSSL up.
    ///
    /// Only the first: the option makes the library allocate a new global index for its data in OpenSSL's objects.
    /// Handshakes on other threads would then miss their data and fail (lws 4.1). In exchange, the library frees the
    /// TLS settings of the other contexts only when the process ends.
    static func createContext(_ info: inout lws_context_creation_info, withTLS: Bool) -> OpaquePointer? {
        // An integer passes the lock: only the caller uses the pointer, which the compiler cannot know.
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

    static var complaint: String {
        lastComplaint.isEmpty ? "the library gives no reason" : lastComplaint
    }

    /// OpenSSL's message on a certificate, if it was the library's latest on this thread: `SSL error: self-signed certificate
    /// (preverify_ok=0;…)`. The connection's own error has only a number. Cleared by reading: a later failure may have
    /// another cause, for which the library logs nothing.
    static func takeVerificationComplaint() -> String? {
        let text = lastComplaint
        guard let start = text.range(of: "SSL error: "), let end = text.range(of: " (preverify_ok="),
            start.upperBound <= end.lowerBound
        else { return nil }
        lastComplaint = ""
        return String(text[start.upperBound..<end.lowerBound])
    }

    static func keep(_ line: String) { lastComplaint = line }
}

/// The library's log callback, on any thread that runs a context.
private func keepComplaint(_ level: Int32, _ line: UnsafePointer<CChar>?) {
    guard let line else { return }
    var text = String(cString: line)
    while text.last?.isNewline == true { text.removeLast() }
    LWSLibrary.keep(text)
}
