import AdminProtocol
import LibWebSockets

/// The resources of backends.
enum BackendRoute: CaseIterable {
    case callStart, callGet, callConnected, callHangup, callRecord, callEnd, callExport
    case pushGet, pushExport
    case userGet, userSet, userBlock, userUnblock, userForward
    case userRevoke
    case deviceList, deviceGet, deviceResume, deviceDelete
    case sessionList, sessionDrop
    case groupList, groupGet, groupSet, groupDelete
    case aliasList, aliasSet, aliasDelete
    case webhookList, webhookPause, webhookResume, webhookReplay, webhookTest
    case stats, drain, stop, logLevel

    static let root = "/v1/backend"
    /// The most segments below ``root``, of any path that is worth a look.
    static let mostSegments = 8

    /// The method and the path below ``root``. A part in braces is a parameter.
    var place: (method: HTTPRequest.Method, path: String) {
        switch self {
        case .callStart: (.post, "/calls")
        case .callGet: (.get, "/calls/{call_id}")
        case .callConnected: (.post, "/calls/{call_id}/connected")
        case .callHangup: (.post, "/calls/{call_id}/hangup")
        case .callRecord: (.get, "/calls/{call_id}/record")
        case .callEnd: (.delete, "/calls/{call_id}")
        case .callExport: (.get, "/calls")
        case .pushGet: (.get, "/pushes/{push_id}")
        case .pushExport: (.get, "/pushes")
        case .userGet: (.get, "/users/{user}")
        case .userSet: (.patch, "/users/{user}")
        case .userBlock: (.post, "/users/{user}/block")
        case .userUnblock: (.post, "/users/{user}/unblock")
        case .userForward: (.put, "/users/{user}/forward")
        case .userRevoke: (.post, "/users/{user}/revoke")
        case .deviceList: (.get, "/users/{user}/devices")
        case .deviceGet: (.get, "/users/{user}/devices/{device_id}")
        case .deviceResume: (.post, "/users/{user}/devices/{device_id}/resume")
        case .deviceDelete: (.delete, "/users/{user}/devices/{device_id}")
        case .sessionList: (.get, "/users/{user}/sessions")
        case .sessionDrop: (.delete, "/users/{user}/sessions/{device_id}")
        case .groupList: (.get, "/groups")
        case .groupGet: (.get, "/groups/{name}")
        case .groupSet: (.put, "/groups/{name}")
        case .groupDelete: (.delete, "/groups/{name}")
        case .aliasList: (.get, "/aliases")
        case .aliasSet: (.put, "/aliases/{alias}")
        case .aliasDelete: (.delete, "/aliases/{alias}")
        case .webhookList: (.get, "/webhooks")
        case .webhookPause: (.post, "/webhooks/{name}/pause")
        case .webhookResume: (.post, "/webhooks/{name}/resume")
        case .webhookReplay: (.post, "/webhooks/{name}/replay")
        case .webhookTest: (.post, "/webhooks/{name}/test")
        case .stats: (.get, "/stats")
        case .drain: (.post, "/server/drain")
        case .stop: (.post, "/server/stop")
        case .logLevel: (.put, "/server/log_level")
        }
    }

    var role: BackendToken.Role {
        switch self {
        case .callGet, .callRecord, .callExport, .pushGet, .pushExport, .userGet, .deviceList, .deviceGet, .sessionList,
            .groupList, .groupGet, .aliasList, .webhookList, .stats:
            .read
        case .callStart, .callConnected, .callHangup: .calls
        case .callEnd, .userSet, .userBlock, .userUnblock, .userForward, .userRevoke, .deviceResume, .deviceDelete,
            .sessionDrop, .groupSet, .groupDelete, .aliasSet, .aliasDelete, .webhookPause, .webhookResume,
            .webhookReplay, .webhookTest, .drain, .stop, .logLevel:
            .admin
        }
    }

    /// The parameters that the query may have.
    var query: [String] {
        switch self {
        case .callGet: ["after", "wait"]
        case .callExport, .pushExport: ["since", "until", "cursor", "limit"]
        case .deviceList: ["after", "limit", "suspended"]
        case .sessionList: ["after", "limit"]
        case .groupList, .aliasList: ["after"]
        case .callStart, .callConnected, .callHangup, .callRecord, .callEnd, .pushGet, .userGet, .userSet, .userBlock,
            .userUnblock, .userForward, .userRevoke, .deviceGet, .deviceResume, .deviceDelete, .sessionDrop, .groupGet,
            .groupSet, .groupDelete, .aliasSet, .aliasDelete, .webhookList, .webhookPause, .webhookResume,
            .webhookReplay, .webhookTest, .stats, .drain, .stop, .logLevel:
            []
        }
    }

    enum Handler {
        /// The core, which checks the token's scope.
        case call
        /// The administration, with the path's, the query's and the body's members as parameters.
        case admin(AdminMethod)
        /// The store.
        case export(BackendExport.Kind)
    }

    var handler: Handler {
        switch self {
        case .callStart, .callGet, .callConnected, .callHangup: .call
        case .callRecord: .admin(.callGet)
        case .callEnd: .admin(.callEnd)
        case .callExport: .export(.calls)
        case .pushGet: .admin(.pushGet)
        case .pushExport: .export(.pushes)
        case .userGet: .admin(.userGet)
        case .userSet: .admin(.userSet)
        case .userBlock: .admin(.userBlock)
        case .userUnblock: .admin(.userUnblock)
        case .userForward: .admin(.userForward)
        case .userRevoke: .admin(.userRevoke)
        case .deviceList: .admin(.deviceList)
        case .deviceGet: .admin(.deviceGet)
        case .deviceResume: .admin(.deviceResume)
        case .deviceDelete: .admin(.deviceDelete)
        case .sessionList: .admin(.sessionList)
        case .sessionDrop: .admin(.sessionDrop)
        case .groupList: .admin(.groupList)
        case .groupGet: .admin(.groupGet)
        case .groupSet: .admin(.groupSet)
        case .groupDelete: .admin(.groupDelete)
        case .aliasList: .admin(.aliasList)
        case .aliasSet: .admin(.aliasSet)
        case .aliasDelete: .admin(.aliasDelete)
        case .webhookList: .admin(.webhookList)
        case .webhookPause: .admin(.webhookPause)
        case .webhookResume: .admin(.webhookResume)
        case .webhookReplay: .admin(.webhookReplay)
        case .webhookTest: .admin(.webhookTest)
        case .stats: .admin(.statsGet)
        case .drain: .admin(.serverDrain)
        case .stop: .admin(.serverStop)
        case .logLevel: .admin(.logSet)
        }
    }

    // MARK: Matching

    /// What a path stands for.
    enum Match {
        case route(BackendRoute, parameters: [String: String])
        /// The path has other methods.
        case methods([HTTPRequest.Method])
        case nothing
    }

    private struct Pattern {
        let route: BackendRoute
        let method: HTTPRequest.Method
        let parts: [Substring]

        /// The parameters in the path; nil for another path.
        func parameters(_ path: [String]) -> [String: String]? {
            guard path.count == parts.count else { return nil }
            var parameters: [String: String] = [:]
            for (part, text) in zip(parts, path) {
                if part.hasPrefix("{") {
                    parameters[String(part.dropFirst().dropLast())] = text
                } else if part != text {
                    return nil
                }
            }
            return parameters
        }
    }

    private static let patterns = allCases.map { route in
        Pattern(route: route, method: route.place.method, parts: route.place.path.dropFirst().split(separator: "/"))
    }

    static func isBackend(path: String) -> Bool { path.hasPrefix(root + "/") }

    /// - Parameter path: the parts below ``root``, unescaped.
    static func match(_ method: HTTPRequest.Method, _ path: [String]) -> Match {
        var methods: [HTTPRequest.Method] = []
        for pattern in patterns {
            guard let parameters = pattern.parameters(path) else { continue }
            if pattern.method == method || pattern.method == .get && method == .head {
                return .route(pattern.route, parameters: parameters)
            }
            methods.append(pattern.method)
        }
        return methods.isEmpty ? .nothing : .methods(methods)
    }
}
