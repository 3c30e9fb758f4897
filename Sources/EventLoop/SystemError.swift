import CLibUV
import Glibc

/// A failed call into libuv or the system: the operation and its errno.
public struct SystemError: Error, CustomStringConvertible, Sendable {
    /// The call and its subject: `bind 127.0.0.1:7350`.
    public let operation: String
    /// The system's `errno`, positive.
    public let errno: Int32
    /// The reason in words; that of `errno` where it has one.
    private let reason: String

    public init(operation: String, errno: Int32) {
        self.init(operation: operation, errno: errno, reason: String(cString: strerror(errno)))
    }

    /// - Parameter reason: of an error that is none of the system's, for which `errno` stands.
    init(operation: String, errno: Int32, reason: String) {
        self.operation = operation
        self.errno = errno
        self.reason = reason
    }

    public var description: String { "\(operation): \(reason)" }

    /// Returns a libuv result, or throws the error of a negative one.
    @discardableResult
    static func check(_ result: Int32, _ operation: @autoclosure () -> String) throws -> Int32 {
        // On Unix libuv's error codes are negated errno values (uv/errno.h).
        guard result >= 0 else { throw SystemError(operation: operation(), errno: -result) }
        return result
    }
}
