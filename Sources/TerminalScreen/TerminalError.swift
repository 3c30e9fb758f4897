import Glibc

/// A failed system call on the terminal.
public struct TerminalError: Error, CustomStringConvertible, Sendable {
    public let operation: String
    public let errno: Int32

    init(_ operation: String, _ errno: Int32) {
        self.operation = operation
        self.errno = errno
    }

    public var description: String { "\(operation): \(String(cString: strerror(errno)))" }
}
