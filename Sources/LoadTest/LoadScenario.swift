/// Tells of a run's progress in a few words; called on the load's own thread, some times a second at most.
public typealias LoadProgress = @Sendable (String) -> Void

/// One kind of load: what it needs of the server, and what it does to it.
public protocol LoadScenario: Sendable {
    /// As on the command line.
    var name: String { get }
    var shards: Int { get }
    /// What each connection may send; nil leaves the server's own limit.
    var messagesPerSecond: Int? { get }
    /// Descriptors this process needs for it, the server as many.
    var connections: Int { get }

    /// Puts the load on a server that nobody else uses.
    /// - Throws: ``LoadError`` where nothing can be said of the server at all.
    func run(on server: ServerProcess, progress: @escaping LoadProgress) async throws -> LoadReport
}

extension LoadScenario {
    /// What a server and this process have open besides the connections, generously.
    private static var descriptorsBesides: Int { 200 }

    /// - Parameter limit: how many descriptors the process may have open.
    /// - Throws: ``LoadError``: it would run out of them.
    public func checkDescriptors(limit: Int) throws {
        let needed = connections + Self.descriptorsBesides
        guard limit >= needed else {
            throw LoadError(
                "\(connections) connections need \(needed) descriptors and this process may have \(limit); "
                    + "raise the hard limit (ulimit -Hn) or ask for fewer")
        }
    }
}
