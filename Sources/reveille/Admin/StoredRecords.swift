import AdminKit
import AdminProtocol
import AdminServer
import CallCore
import CallMonitor
import CallServer
import CallVocabulary
import StoreInterface

/// Where what is stored is read from: the admin API of a server that is named or runs on the data folder, else straight
/// from the store. Either way it is the same views.
enum StoredRecords {
    case store(any StoreQueries, StorePlace)
    case server(Administration)

    /// Opens it for as long as `body` takes, which also shows what it reads. Says on standard error when no server runs.
    static func with(_ server: ServerOptions, _ body: (StoredRecords) async throws -> Void) async throws {
        if try server.named() != nil {
            return try await Administration.with(server) { try await body(.server($0)) }
        }
        let place = try server.store()
        var note: String?
        // An address on the command line names a database, and no folder with a socket.
        if server.data.address == nil {
            switch try await Administration.find(on: server.data.folder) {
            case .running(let running):
                do {
                    try await body(.server(running))
                } catch {
                    await running.client.close()
                    throw error
                }
                return await running.client.close()
            case .silent(let words): note = "\(words). What is stored is shown"
            case .none: break
            }
        }
        var console = Console.current
        if note == nil {
            let home = place.home
            note = home.note(of: "\(place)")
            console.isServerDown = home == .absent
        }
        try await Console.$current.withValue(console) { try await with(place, body) }
        if let note { Terminal.complain(note) }
    }

    /// Opens a store for as long as `body` takes.
    /// - Parameter replays: as for `StorePlace.withQueries`.
    static func with<Result>(
        _ place: StorePlace, replays: Bool = true, _ body: (StoredRecords) async throws -> Result
    ) async throws -> Result {
        try await place.withQueries(replays: replays) { try await body(.store($0, place)) }
    }

    /// What a realm says of a server that serves it.
    enum Home: Equatable {
        case runs
        /// Its commits wait, and with them each renewal of the lease.
        case unknown
        case absent

        init(_ status: RealmStatus) {
            self = status.hasHome ? .runs : status.isWaiting ? .unknown : .absent
        }

        /// What to say with records that are read without a server; nil for nothing.
        func note(of place: String) -> String? {
            switch self {
            case .runs: nil
            case .unknown:
                """
                the commits of \(place) wait for the database's synchronous standby server, so that no server can say that \
                it runs: what was stored last is shown
                """
            case .absent: "no server runs on \(place): what was stored last is shown"
            }
        }
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
        case .store(_, let place): "in \(place)"
        case .server(let server): server.address.words
        }
    }

    // MARK: Asking

    /// A folder is asked what a server would be asked, and answers by the same code.
    /// - Parameter missing: what to say when there is no such thing.
    private func perform<Request: StoredRequest>(
        _ request: Request, missing: String? = nil
    ) async throws -> Request.Response {
        switch self {
        case .store(let queries, _):
            do {
                return try await request.read(queries, now: Moment.now)
            } catch let refusal as AdminRefusal {
                throw Terminal.failed(refusal.code == .notFound ? missing ?? refusal.message : refusal.message)
            }
        case .server(let server): return try await server.perform(request, missing: missing)
        }
    }

    private func all<Request: StoredRequest & AdminListRequest>(
        _ request: Request, atMost limit: Int
    ) async throws -> [Request.Item] {
        if case .server(let server) = self { return try await server.all(request, atMost: limit) }
        var (request, items) = (request, [Request.Item]())
        repeat {
            let page = try await perform(request)
            items += page.items
            request.after = page.next
        } while items.count < limit && request.after != nil
        return Array(items.prefix(limit))
    }

    /// - Parameter limit: one more is read, to tell whether there are more.
    private func listing<Request: StoredRequest & AdminListRequest>(
        _ request: Request, limit: Int
    ) async throws -> Listing<Request.Item> {
        Listing(try await all(request, atMost: limit + 1), limit: limit)
    }

    // MARK: Calls

    func calls(_ query: ListCalls, limit: Int) async throws -> Listing<CallView> {
        try await listing(query, limit: limit)
    }

    func call(_ id: IDPart<CallSubject>) async throws -> CallDetail {
        try await perform(GetCall(try await callID(id)), missing: missing(id))
    }

    /// Those of the server; none without one.
    func problems() async throws -> [ServerProblem] {
        guard case .server(let server) = self else { return [] }
        return try await server.perform(GetServerInfo()).problems ?? []
    }

    /// The call that is named, out of all that are stored.
    func callID(_ id: IDPart<CallSubject>) async throws -> CallID {
        if let exact = id.exact { return exact }
        let named = try await all(ListCalls(id: id), atMost: IDPart<CallSubject>.mostShown + 1)
        return try id.only(of: named, id: \.callID, line: CallText.line, missing: missing(id)).callID
    }

    private func missing(_ id: IDPart<CallSubject>) -> String { "no call \(id.text) \(place); see reveille calls list" }

    // MARK: Pushes

    func pushes(_ query: ListPushes, limit: Int) async throws -> Listing<PushView> {
        try await listing(query, limit: limit)
    }

    func push(_ id: IDPart<PushSubject>) async throws -> PushView {
        let missing = "no push \(id.text) \(place); see reveille pushes list"
        if let exact = id.exact { return try await perform(GetPush(exact), missing: missing) }
        let named = try await all(ListPushes(id: id), atMost: IDPart<PushSubject>.mostShown + 1)
        return try id.only(of: named, id: \.pushID, line: PushText.line, missing: missing)
    }

    func audit() async throws -> AuditView { try await perform(AuditPushes()) }

    // MARK: Devices

    func devices(_ query: ListDevices, limit: Int = .max - 1) async throws -> Listing<DeviceView> {
        try await listing(query, limit: limit)
    }

    func device(of user: Handle, _ id: IDPart<DeviceSubject>) async throws -> DeviceView {
        try id.only(
            of: try await devices(ListDevices(user: user)).items, id: \.deviceID, line: DeviceText.line,
            missing: DeviceText.missing(user, id))
    }

    // MARK: Directory

    func groups() async throws -> [GroupView] { try await all(ListGroups(), atMost: .max) }

    func aliases() async throws -> [AliasView] { try await all(ListAliases(), atMost: .max) }
}

extension StorePlace {
    /// The server of the store, as its realm says. Nobody tells of a folder, but the server on it.
    fileprivate var home: StoredRecords.Home {
        switch self {
        case .folder: .absent
        case .database(let address): (try? RealmControl(address).status()).map { StoredRecords.Home($0) } ?? .absent
        }
    }
}
