import CallVocabulary
import EventLoop

extension LoadPlan {
    /// What a server and this process have open besides the connections, generously.
    private static let descriptorsBesides = 200

    /// Raises this process's limit of descriptors, which a server of its own inherits, and checks that it will do.
    /// - Throws: ``LoadError``.
    func check() throws {
        guard scenario != .fanout || 1...CallGroup.mostMembers ~= fanOut else {
            throw LoadError("a call reaches 1 to \(CallGroup.mostMembers) devices, not \(fanOut)")
        }
        try check(descriptors: DescriptorLimit.raise())
    }

    /// - Parameter descriptors: how many this process may have open.
    func check(descriptors: Int) throws {
        let needed = connections + Self.descriptorsBesides
        guard descriptors >= needed else {
            throw LoadError(
                "\(connections) connections need \(needed) descriptors and this process may have \(descriptors); "
                    + "raise the hard limit (ulimit -Hn) or ask for fewer")
        }
    }

    /// The most connections there will be at once.
    var connections: Int {
        switch scenario {
        case .register: sessions
        case .online, .relay, .churn: 2 * places + sessions
        case .wake: 3 * places + sessions
        // Each part takes its places rounded up.
        case .mixed: (2 + Self.mixedFanOut) * places + (2 + Self.mixedFanOut) * 8 * threads + sessions
        case .fanout: (1 + fanOut) * places + sessions
        }
    }
}
