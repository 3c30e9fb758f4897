/// Why a load test could not run, and what to do about it. What goes wrong under load is in the ``LoadReport``.
public struct LoadError: Error, CustomStringConvertible, Sendable {
    public let description: String

    init(_ description: String) { self.description = description }
}
