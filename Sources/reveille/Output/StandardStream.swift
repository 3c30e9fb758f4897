import Glibc

/// Writes to a stream that may be closed, full, or without a reader.
enum StandardStream {
    /// Takes the places of streams that are closed, before a socket or a file of the program's own does, which would get
    /// what is written. To be called first of all.
    static func reserve() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest that is free is given. It fails to be used as what it is not open for.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

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

    /// Ends the process: with 128 + SIGPIPE when the reader has gone (libwebsockets ignores SIGPIPE), else with
    /// ``Exit/unavailable`` and a message.
    static func end(after failure: Int32) -> Never {
        if failure == EPIPE { exit(128 + SIGPIPE) }
        let reason = String(cString: strerror(failure))
        _ = write("reveille: the results cannot be written: \(reason)\n", to: STDERR_FILENO)
        exit(2)
    }
}
