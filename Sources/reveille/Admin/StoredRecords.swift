import AdminProtocol
import CallCore
import CallMonitor
import CallServer
import CallStore
import CallVocabulary

/// Where what is stored is read from: the admin API of a server that is named, else straight from the data folder,
/// whether a server runs on it or not. Either way it is the same views.
enum StoredRecords {
    case store(StoreReader, DataFolder)
    case server(Administration)

    /// Opens it for as long as `body` takes.
    static func with<Result>(
        _ server: ServerOptions, _ body: (StoredRecords) async throws -> Result
    ) async throws -> Result {
        if try server.named() != nil {
            return try await Administration.with(server) { try await body(.server($0)) }
        }
        return try await body(.store(StoreReader.open(folder: server.data.folder.path), server.data.folder))
    }

    /// A list as far as it was asked for.
    struct Listing<Item> {
        var items: [Item]
        var hasMore: Bool

        fileprivate init(_ items: [Item], limit: Int) {
            self.items = Array(items.prefix(limit))
            hasMore = items.count > limit
        }
    }

    private var place: String {
        switch self {
        case .store(_, let folder): "in \(folder.path)"
        case .server(let server): server.address.words
        }
    }

    // MARK: Calls

    /// - Parameter limit: one more is read, to tell whether there are more.
    func calls(_ query: ListCalls, limit: Int) async throws -> Listing<CallView> {
        switch self {
        case .store(let reader, _):
            let filter = CallFilter(
                isLive: query.live, states: query.state.map { [$0] }, user: query.user,
                since: query.sinceMilliseconds.map(Instant.init), until: query.untilMilliseconds.map(Instant.init),
                reason: query.reason, limit: limit + 1)
            return Listing(try reader.calls(filter).map { CallView($0) }, limit: limit)
        case .server(let server):
            return Listing(try await server.all(query, atMost: limit + 1), limit: limit)
        }
    }

    func call(_ id: IDPrefix<CallSubject>) async throws -> CallDetail {
        let missing = "no call \(id.text) \(place); see reveille calls list"
        switch self {
        case .store(let reader, _):
            let found = try reader.callIDs(in: id.range, limit: IDPrefix<CallSubject>.mostShown + 1)
            let calls = try found.compactMap { try reader.call($0) }
            let call = try id.only(
                of: calls, id: { $0.call.id }, line: { CallText.line(CallView($0.call)) }, missing: missing)
            return CallDetail(call)
        case .server(let server):
            return try await server.perform(GetCall(try await callID(id, server, missing)), missing: missing)
        }
    }

    func callID(_ id: IDPrefix<CallSubject>) async throws -> CallID {
        if let exact = id.exact { return exact }
        return try await call(id).call.callID
    }

    /// A server is asked for whole ids: of a beginning, the newest calls are looked through.
    private func callID(
        _ id: IDPrefix<CallSubject>, _ server: Administration, _ missing: String
    ) async throws -> CallID {
        if let exact = id.exact { return exact }
        let newest = try await server.all(ListCalls(), atMost: Self.mostLookedThrough)
        let hint = newest.count < Self.mostLookedThrough ? missing : Self.lookedThrough(missing)
        return try id.only(of: newest, id: \.callID, line: CallText.line, missing: hint).callID
    }

    private static let mostLookedThrough = 2000

    private static func lookedThrough(_ missing: String) -> String {
        "\(missing) (of a shortened id, the newest \(mostLookedThrough) are looked through: give the whole one)"
    }

    // MARK: Pushes

    func pushes(_ query: ListPushes, limit: Int) async throws -> Listing<PushView> {
        switch self {
        case .store(let reader, _):
            let filter = PushFilter(
                purpose: query.purpose, status: query.status, report: query.report, user: query.user,
                call: query.callID, isOpen: query.open, limit: limit + 1)
            return Listing(try reader.pushes(filter).map { PushView($0) }, limit: limit)
        case .server(let server):
            return Listing(try await server.all(query, atMost: limit + 1), limit: limit)
        }
    }

    func push(_ id: IDPrefix<PushSubject>) async throws -> PushView {
        let missing = "no push \(id.text) \(place); see reveille pushes list"
        switch self {
        case .store(let reader, _):
            let found = try reader.pushes(in: id.range, limit: IDPrefix<PushSubject>.mostShown + 1).map { PushView($0) }
            return try id.only(of: found, id: \.pushID, line: PushText.line, missing: missing)
        case .server(let server):
            if let exact = id.exact { return try await server.perform(GetPush(exact), missing: missing) }
            let newest = try await server.all(ListPushes(), atMost: Self.mostLookedThrough)
            let hint = newest.count < Self.mostLookedThrough ? missing : Self.lookedThrough(missing)
            return try id.only(of: newest, id: \.pushID, line: PushText.line, missing: hint)
        }
    }

    func audit() async throws -> AuditView {
        switch self {
        case .store(let reader, _): return try AuditView(auditing: reader, now: Moment.now)
        case .server(let server): return try await server.perform(AuditPushes())
        }
    }

    // MARK: Devices

    func devices(_ query: ListDevices, limit: Int = .max - 1) async throws -> Listing<DeviceView> {
        switch self {
        case .store(let reader, _):
            let devices = try reader.devices(user: query.user).lazy.map { DeviceView($0) }
                .filter { query.suspended == nil || $0.isSuspended == query.suspended }
            return Listing(Array(devices.prefix(limit + 1)), limit: limit)
        case .server(let server):
            return Listing(try await server.all(query, atMost: limit + 1), limit: limit)
        }
    }

    func device(of user: Handle, _ id: IDPrefix<DeviceSubject>) async throws -> DeviceView {
        try id.only(
            of: try await devices(ListDevices(user: user)).items, id: \.deviceID, line: DeviceText.line,
            missing: DeviceText.missing(user, id))
    }
}
