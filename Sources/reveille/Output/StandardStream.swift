import Glibc

/// Writes to a stream that may be closed, full, or read by nobody any more.
enum StandardStream {
    /// - Returns: 0, or the system's reason.
    static func write(_ text: String, to descriptor: Int32) -> Int32 {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 {
                if errno == EINTR { continue }
                return errno
            }
            rest = rest.dropFirst(count)
        }
        return 0
    }

    /// Ends the process: as the shell is used to when the reader has gone (libwebsockets has SIGPIPE ignored), else
    /// with "could not run", in words.
    static func end(after failure: Int32) -> Never {
        if failure == EPIPE { exit(128 + SIGPIPE) }
        let reason = String(cString: strerror(failure))
        _ = write("reveille: the results cannot be written: \(reason)\n", to: STDERR_FILENO)
        exit(2)
    }
}
