import CallVocabulary
import PushCore

extension PushService.Configuration {
    /// The routes of this configuration.
    /// - Throws: ``PushConfigurationError`` for an invalid configuration, before anything starts.
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

    /// Checks whether the configuration is valid.
    /// - Throws: ``PushConfigurationError`` with source, field and problem.
    public func check() throws {
        _ = try routes()
        if let webPush { try WebPushRoutes.check(webPush) }
    }

    /// Refuses two credentials for the same topic, because the choice between them would be arbitrary.
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
