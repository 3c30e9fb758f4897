import Glibc

/// Why a program did not run.
public enum ChildProcessFailure: Error, Equatable, CustomStringConvertible, Sendable {
    case notInstalled(program: String, package: String)
    case notStarted(program: String, errno: Int32)
    /// It exceeded the time limit and was killed.
    case tookTooLong(program: String, limit: Duration, output: String)

    public var description: String {
        switch self {
        case .notInstalled(let program, let package): "there is no \(program): install \(package)"
        case .notStarted(let program, let errno): "cannot run \(program): \(String(cString: strerror(errno)))"
        case .tookTooLong(let program, let limit, let output):
            "\(program) was killed after \(limit); it said: \(output.suffix(500))"
        }
    }
}
