import AdminProtocol
import CallCore
import CallMonitor
import CallVocabulary
import StoreInterface

// Lists from the store. Pages before the last may be short or empty: each read covers a bounded number of rows, however
// rare the matches are.

extension ListCalls: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> AdminPage<CallView> {
        if let id {
            guard self == ListCalls(id: id) else { throw idGoesAlone }
            let named = try await store.callIDs(id, limit: AdminEndpoint.pageSize)
            var room = FrameRoom()
            var calls: [CallRecord] = []
            for id in named {
                guard let call = try await store.call(id)?.call else { continue }
                guard room.take(call) else { break }
                calls.append(call)
            }
            return AdminPage(items: calls.map { CallView($0) })
        }
        var filter = CallFilter(
            isLive: live, states: state.map { [$0] }, user: user, since: sinceMilliseconds.map(Instant.init),
            until: untilMilliseconds.map(Instant.init), reason: reason, limit: try AdminEndpoint.entries(limit))
        if let after {
            let (createdAt, call) = try PageCursor.read(after, CallSubject.self)
            filter.after = CallCursor(createdAt: createdAt, call: call)
        }
        let page = try await store.calls(filter)
        var room = FrameRoom()
        let calls = page.rows.prefix { room.take($0) }
        let next = calls.count < page.rows.count ? calls.last.map { CallCursor($0) } : page.next
        return AdminPage(
            items: calls.map { CallView($0) }, next: next.map { PageCursor.text($0.createdAt, $0.call) })
    }
}

extension ListPushes: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> AdminPage<PushView> {
        if let id {
            guard self == ListPushes(id: id) else { throw idGoesAlone }
            let named = try await store.pushes(id, limit: AdminEndpoint.pageSize)
            return AdminPage(items: named.map { PushView($0) })
        }
        var filter = PushFilter(
            purpose: purpose, status: status, report: report, user: user, call: callID, isOpen: open,
            limit: try AdminEndpoint.entries(limit))
        if let after {
            let (intendedAt, push) = try PageCursor.read(after, PushSubject.self)
            filter.after = PushCursor(intendedAt: intendedAt, push: push)
        }
        let page = try await store.pushes(filter)
        return AdminPage(
            items: page.rows.map { PushView($0) }, next: page.next.map { PageCursor.text($0.intendedAt, $0.push) })
    }
}

extension ListDevices: StoredRequest {
    package func read(_ store: any StoreQueries, now: Instant) async throws -> AdminPage<DeviceView> {
        let size = try AdminEndpoint.entries(limit)
        var filter = DeviceFilter(user: user, suspendedOnly: suspended == true, limit: size)
        if let after {
            // Neither a UUID nor a handle contains a space.
            let parts = after.parts(at: " ")
            guard parts.count == 2, let user = Handle(String(parts[0])), let device = DeviceID(parts[1]) else {
                throw PageCursor.unreadable
            }
            filter.after = DeviceKey(user: user, device: device)
        }
        let devices = try await store.devices(filter)
        let next = devices.count == size ? devices.last.map { "\($0.key.user) \($0.key.device)" } : nil
        // When filtering out suspended devices, a page may be short.
        let items = devices.map { DeviceView($0) }.filter { suspended == nil || $0.isSuspended == suspended }
        return AdminPage(items: items, next: next)
    }
}

extension ListGroups: StoredRequest {
    package static var showsLatest: Bool { true }

    package func read(_ store: any StoreQueries, now: Instant) async throws -> AdminPage<GroupView> {
        try await AdminPages.page({ GroupView($0) }) { try await store.groups(after: after, limit: $0) }
    }
}

extension ListAliases: StoredRequest {
    package static var showsLatest: Bool { true }

    package func read(_ store: any StoreQueries, now: Instant) async throws -> AdminPage<AliasView> {
        let last = try after.map { text throws(AdminRefusal) in
            guard let last = Handle(known: text) else { throw PageCursor.unreadable }
            return last
        }
        return try await AdminPages.page({ AliasView($0) }) { try await store.aliases(after: last, limit: $0) }
    }
}

private let idGoesAlone = AdminRefusal(.invalidParams, "params.id: goes alone; leave the other members out")

/// A position in a list by time: `1789689600123 0b9c8e4e-…`.
private enum PageCursor {
    static let unreadable = AdminRefusal(.invalidParams, "params.after: expected the next of the page before")

    static func text<Subject>(_ time: Instant, _ id: Identifier<Subject>) -> String { "\(time.milliseconds) \(id)" }

    static func read<Subject>(
        _ text: String, _: Subject.Type
    ) throws(AdminRefusal) -> (Instant, Identifier<Subject>) {
        let parts = text.parts(at: " ")
        guard parts.count == 2, let time = Int64(digits: parts[0], in: 0...Int64.max),
            let id = Identifier<Subject>(parts[1])
        else { throw unreadable }
        return (Instant(milliseconds: time), id)
    }
}
