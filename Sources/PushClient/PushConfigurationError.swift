/// An unusable push configuration: source, field, problem and advice.
public struct PushConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The file, or the endpoint's name: `APNs sandbox`.
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
