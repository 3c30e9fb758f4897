/// A push configuration that cannot be started with: where, which field, what is wrong and what to do about it.
public struct PushConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file, or the name of the endpoint: `APNs sandbox`.
    public let source: String?
    public let field: String?
    public let problem: String

    public init(source: String? = nil, field: String? = nil, problem: String) {
        self.source = source
        self.field = field
        self.problem = problem
    }

    public var description: String { [source, field, problem].compactMap(\.self).joined(separator: ": ") }
}
