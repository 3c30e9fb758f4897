/// An invalid configuration, at the start or on a reload: the field, the problem and advice.
public struct ServerConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The name of the field: `admin.token`, `limits.background_pushes`.
    public let field: String
    public let problem: String

    public init(field: String, problem: String) {
        self.field = field
        self.problem = problem
    }

    public var description: String { "\(field): \(problem)" }
}
