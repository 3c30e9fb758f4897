/// What is wrong, with advice: a load test that cannot run, a condition or a report that cannot be used. Failures under
/// load are in the ``LoadReport``.
public struct LoadError: Error, CustomStringConvertible, Sendable {
    public let description: String

    public init(_ description: String) { self.description = description }
}
