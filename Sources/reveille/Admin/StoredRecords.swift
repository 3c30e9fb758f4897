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

    func call(_ id: IDPart<CallSubject>) async throws -> CallDetail {
        let call = try await callID(id)
        let missing = missing(id)
        switch self {
        case .store(let reader, _):
            guard let found = try reader.call(call) else { throw Terminal.failed(missing) }
            return CallDetail(found)
        case .server(let server): return try await server.perform(GetCall(call), missing: missing)
        }
    }

    /// The call that is named: in a folder and on a server out of all that are stored.
    func callID(_ id: IDPart<CallSubject>) async throws -> CallID {
        if let exact = id.exact { return exact }
        let limit = IDPart<CallSubject>.mostShown + 1
        let named: [CallView]
        switch self {
        case .store(let reader, _):
            named = try reader.callIDs(id, limit: limit).compactMap { try reader.call($0)?.call }.map { CallView($0) }
        case .server(let server): named = try await server.all(ListCalls(id: id), atMost: limit)
        }
        return try id.only(of: named, id: \.callID, line: CallText.line, missing: missing(id)).callID
    }

    private func missing(_ id: IDPart<CallSubject>) -> String { "no call \(id.text) \(place); see reveille calls list" }

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

    func push(_ id: IDPart<PushSubject>) async throws -> PushView {
        let missing = "no push \(id.text) \(place); see reveille pushes list"
        let limit = IDPart<PushSubject>.mostShown + 1
        let named: [PushView]
        switch self {
        case .store(let reader, _): named = try reader.pushes(id, limit: limit).map { PushView($0) }
        case .server(let server):
            if let exact = id.exact { return try await server.perform(GetPush(exact), missing: missing) }
            named = try await server.all(ListPushes(id: id), atMost: limit)
        }
        return try id.only(of: named, id: \.pushID, line: PushText.line, missing: missing)
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

    func device(of user: Handle, _ id: IDPart<DeviceSubject>) async throws -> DeviceView {
        try id.only(
            of: try await devices(ListDevices(user: user)).items, id: \.deviceID, line: DeviceText.line,
            missing: DeviceText.missing(user, id))
    }

    // MARK: Directory

    func groups() async throws -> [GroupView] {
        switch self {
        case .store(let reader, _): try reader.groups().map { GroupView($0) }
        case .server(let server): try await server.all(ListGroups())
        }
    }

    func aliases() async throws -> [AliasView] {
        switch self {
        case .store(let reader, _): try reader.aliases().map { AliasView($0) }
        case .server(let server): try await server.all(ListAliases())
        }
    }
}
