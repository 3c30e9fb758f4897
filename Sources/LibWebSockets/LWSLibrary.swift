import CLibWebSockets
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

    /// What the library last said of a failure.
    static var complaint: String {
        let text = lastComplaint.withLock { $0 }
        return text.isEmpty ? "the library gives no reason" : text
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
