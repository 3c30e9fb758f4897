/// A configuration that cannot be started or gone on with: which part, what is wrong and what to do about it.
public struct ServerConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// `admin.token`, `limits.background_pushes`.
    public let field: String
    public let problem: String

    public init(field: String, problem: String) {
        self.field = field
        self.problem = problem
    }

    public var description: String { "\(field): \(problem)" }
}
