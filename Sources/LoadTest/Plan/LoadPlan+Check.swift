import CallVocabulary
import EventLoop

extension LoadPlan {
    /// What a server and this process have open besides the connections, generously.
    private static let descriptorsBesides = 200

    /// Raises this process's limit of descriptors to what is needed, and checks that it will do.
    /// - Throws: ``LoadError``.
    func check() throws {
        guard !hasFanOut || 1...CallGroup.mostMembers ~= fanOut else {
            throw LoadError("a call reaches 1 to \(CallGroup.mostMembers) devices, not \(fanOut)")
        }
        let descriptors = DescriptorLimit.provide(self.descriptors)
        try check(descriptors: descriptors, ports: LocalPorts.count)
    }

    /// - Parameters:
    ///   - descriptors: how many this process may have open.
    ///   - ports: how many connections this machine makes to one address; nil where that cannot be known.
    func check(descriptors: Int, ports: Int? = nil) throws {
        if let ports, connections > ports {
            throw LoadError(
                "\(connections) connections to one address need a port each, and this machine gives out \(ports) "
                    + "(net.ipv4.ip_local_port_range): widen the range, or ask for fewer")
        }
        let needed = connections + Self.descriptorsBesides
        guard descriptors >= needed else {
            throw LoadError(
                "\(connections) connections need \(needed) descriptors and this process may have \(descriptors); "
                    + "raise the hard limit (ulimit -Hn) or ask for fewer")
        }
    }

    /// The descriptor limit for this process. A limit up to a million (Debian's) makes each closed connection costlier:
    /// libwebsockets searches a table of that size.
    public var descriptors: Int { DescriptorLimit.needed(forConnections: connections) }

    /// The most connections there will be at once.
    var connections: Int {
        // Each thread has pairs of its own, one of them perhaps with fewer calls.
        let standingSessions = Self.sessions(ofStanding: standing) + (standing > 0 ? 2 * (threads - 1) : 0)
        return connections(of: scenario, places: places) + sessions + standingSessions
    }

    /// Whether phones connect anew during the load.
    var connectsAnew: Bool {
        switch scenario {
        case .register, .online, .relay: false
        case .churn: true
        case .wake, .fanout: needsPushes
        case .mixed: needsPushes || weights[.churn, default: 0] > 0
        }
    }

    /// Standing calls between two phones; all but one are waiting calls. With one each, the sockets of a process run
    /// out before the calls of a large server are there.
    static let standingPerPair = 4

    /// The sessions of `calls` that stand, those of one thread.
    static func sessions(ofStanding calls: Int) -> Int { (calls + standingPerPair - 1) / standingPerPair * 2 }

    /// Those of the phones at work.
    private func connections(of scenario: Scenario, places: Int) -> Int {
        switch scenario {
        case .register: 0
        case .online, .relay, .churn: 2 * places
        case .wake: 3 * places
        case .fanout: (1 + fanOut) * places
        case .mixed:
            mixedParts.filter { $0.scenario?.canBeMixed != false }.reduce(0) { sum, part in
                // One that is disturbed is between two that are online, or to one of two that sleep.
                sum + (part.scenario.map { connections(of: $0, places: part.places) } ?? 4 * part.places)
            }
        }
    }
}
