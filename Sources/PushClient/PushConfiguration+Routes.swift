import CallVocabulary
import PushCore

extension PushService.Configuration {
    /// The pools this configuration asks for.
    /// - Throws: ``PushConfigurationError`` for what cannot work, before anything is started.
    func routes() throws -> [PushRoute] {
        let routes = try apns.map { try PushRoute($0) } + fcm.map { try PushRoute($0) }
        for (index, route) in routes.enumerated() {
            for other in routes[..<index] { try Self.check(route, beside: other) }
        }
        if mapsIOSAlerts, fcm.isEmpty {
            throw PushConfigurationError(
                source: "FCM", field: "maps_ios_alerts",
                problem: "alerts cannot go through FCM without a service account")
        }
        return routes
    }

    /// Whether this configuration can be started with.
    /// - Throws: ``PushConfigurationError``, which says where, what and why.
    public func check() throws {
        _ = try routes()
    }

    /// Two credentials for the same topic would leave it to chance which of them is used.
    private static func check(_ route: PushRoute, beside other: PushRoute) throws {
        guard route.provider == other.provider, route.environment == other.environment else { return }
        switch (route.topics, other.topics) {
        case (nil, nil):
            throw PushConfigurationError(
                source: route.name, field: "topics",
                problem: "two credentials without topics: give one, or say which topics each is for")
        case (let topics?, let others?):
            guard let twice = topics.intersection(others).min() else { return }
            throw PushConfigurationError(
                source: route.name, field: "topics", problem: "two credentials for \(twice): give one")
        case (nil, _?), (_?, nil): break
        }
    }
}
