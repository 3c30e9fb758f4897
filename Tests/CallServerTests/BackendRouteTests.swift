import AdminProtocol
import Foundation
import LibWebSockets
import Testing

@testable import CallServer

/// The resources of backends, and their description in `reveille.backend.openapi.json`.
@Suite("Resources of backends")
struct BackendRouteTests {
    private struct Operation: Hashable {
        let method: String
        let path: String
    }

    /// The role in each operation's `x-role`.
    private static func documented() throws -> [Operation: String] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Resources/reveille.backend.openapi.json")
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        let paths = try #require(document?["paths"] as? [String: [String: Any]])
        var roles: [Operation: String] = [:]
        for (path, operations) in paths where path.hasPrefix(BackendRoute.root) {
            for (method, operation) in operations where method != "parameters" {
                let object = try #require(operation as? [String: Any])
                roles[Operation(method: method.uppercased(), path: path)] = object["x-role"] as? String ?? ""
            }
        }
        return roles
    }

    @Test("each is documented with its role, and nothing else is")
    func documentation() throws {
        let served = BackendRoute.allCases.map { route in
            (
                Operation(method: route.place.method.rawValue, path: BackendRoute.root + route.place.path),
                route.role.rawValue
            )
        }
        #expect(Set(served.map(\.0)).count == served.count, "no two are at one place")
        #expect(try Self.documented() == Dictionary(uniqueKeysWithValues: served))
    }

    @Test("each request of administrators that changes something has one, which takes the role admin")
    func changes() {
        for method in AdminMethod.allCases {
            guard case .changes = method.effect else { continue }
            let routes = BackendRoute.allCases.filter {
                if case .admin(method) = $0.handler { true } else { false }
            }
            #expect(routes.count == 1, "\(method.rawValue)")
            #expect(routes.allSatisfy { $0.role == .admin && $0.place.method != .get }, "\(method.rawValue)")
        }
    }

    @Test("none of them has notifications, which HTTP has not")
    func subscriptions() {
        for route in BackendRoute.allCases {
            if case .admin(let method) = route.handler { #expect(method.notification == nil) }
        }
    }

    @Test("a path is matched by its parts, and another method is told which there are")
    func matching() throws {
        guard case .route(.userGet, let parameters) = BackendRoute.match(.get, ["users", "a/b"]) else {
            Issue.record("no match")
            return
        }
        #expect(parameters == ["user": "a/b"])
        if case .route(.userGet, _) = BackendRoute.match(.head, ["users", "a"]) {} else { Issue.record("no HEAD") }
        if case .methods(let methods) = BackendRoute.match(.post, ["groups", "sales"]) {
            #expect(Set(methods) == [.get, .put, .delete])
        } else {
            Issue.record("no methods")
        }
        for path in [[], ["users"], ["calls", "x", "hangup", "y"], ["nothing"]] as [[String]] {
            if case .nothing = BackendRoute.match(.get, path) {} else { Issue.record("\(path) is matched") }
        }
    }
}
