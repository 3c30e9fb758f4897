import CallCore
import CallVocabulary
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct PagingTests {
    /// Sixty calls, three of a millisecond each, every tenth busy, every twentieth live.
    private static let calls = (0..<60).map { number -> CallRecord in
        let time = at(Int64(number / 3))
        if number % 20 == 0 { return .live(createdAt: time) }
        return .ended(
            from: number % 2 == 0 ? "alice" : "dave", createdAt: time, reason: number % 10 == 5 ? .busy : .hangup)
    }

    /// All pages of `filter`, and how many there were.
    private static func pages(
        _ reader: any TableReader, _ filter: CallFilter, scanning: Int
    ) throws -> (rows: [CallRecord], count: Int) {
        var (filter, rows, count) = (filter, [CallRecord](), 0)
        repeat {
            let page = try reader.callPage(filter, scanning: scanning)
            #expect(page.rows.count <= filter.limit)
            rows += page.rows
            filter.after = page.next
            count += 1
        } while filter.after != nil && count < 200
        return (rows, count)
    }

    @Test(arguments: StoreKind.allCases)
    func `calls come page by page, none twice and none left out, also of one millisecond`(_ kind: StoreKind)
        async throws
    {
        try await withStore(kind, Self.calls.map { .call($0) }) { _, reader throws in
            let filters = [
                CallFilter(), CallFilter(user: handle("alice")), CallFilter(isLive: true), CallFilter(isLive: false),
                CallFilter(reason: .busy), CallFilter(since: at(5), until: at(15)), CallFilter(states: [.routing]),
                CallFilter(states: [.ended, .routing], user: handle("bob"), until: at(7)), CallFilter(states: []),
            ]
            for var filter in filters {
                filter.limit = .max
                let whole = try reader.calls(filter)
                for limit in [1, 4, 100] {
                    filter.limit = limit
                    for scanning in [1, 7, 1000] {
                        let (rows, _) = try Self.pages(reader, filter, scanning: scanning)
                        #expect(rows == whole, "\(filter), \(scanning) at a time")
                    }
                    // And by hand, from the last row.
                    var rows: [CallRecord] = []
                    filter.after = nil
                    while rows.count < 100, case let page = try reader.calls(filter), let last = page.last {
                        rows += page
                        filter.after = CallCursor(last)
                    }
                    #expect(rows == whole)
                    filter.after = nil
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a page of rare calls looks at no more than it may, and says where to go on`(_ kind: StoreKind) async throws {
        try await withStore(kind, Self.calls.map { .call($0) }) { _, reader throws in
            let page = try reader.callPage(CallFilter(reason: .mediaFailed), scanning: 10)
            #expect(page.rows == [])
            #expect(page.next == CallCursor(Self.calls[50]), "the last one that was looked at")
            #expect(try Self.pages(reader, CallFilter(reason: .mediaFailed), scanning: 10).count == 7)
            // What is live has an index of its own.
            #expect(try Self.pages(reader, CallFilter(isLive: true), scanning: 1).count <= 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `the filters of state and time are exact`(_ kind: StoreKind) async throws {
        try await withStore(kind, Self.calls.map { .call($0) }) { _, reader throws in
            #expect(try reader.calls(CallFilter(states: [.routing])).count == 3)
            #expect(try reader.calls(CallFilter(states: [.ended], limit: .max)).count == 57)
            #expect(try reader.calls(CallFilter(states: [.connected])) == [])
            #expect(try reader.calls(CallFilter(since: at(3), until: at(4))).map(\.createdAt) == [at(3), at(3), at(3)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `pushes come page by page, none twice and none left out`(_ kind: StoreKind) async throws {
        let records = (0..<40).map { number -> PushRecord in
            var push = PushRecord.sample(
                of: .sample(of: Self.calls[number % 4], user: number % 2 == 0 ? "bob" : "erin"),
                status: number % 8 == 0 ? .accepted : .rejected, report: number % 8 == 0 ? .awaited : nil,
                intendedAt: at(Int64(number / 3)))
            push.id = .random()
            return push
        }
        try await withStore(kind, records.map { .push($0) }) { _, reader throws in
            let filters = [
                PushFilter(), PushFilter(status: .accepted), PushFilter(user: handle("erin")), PushFilter(isOpen: true),
                PushFilter(call: Self.calls[1].id), PushFilter(since: at(3), until: at(9)), PushFilter(isOpen: false),
            ]
            for var filter in filters {
                filter.limit = .max
                let whole = try reader.pushes(filter)
                for (limit, scanning) in [(1, 5), (7, 3), (7, 1000), (100, 11)] {
                    filter.limit = limit
                    var (rows, count) = ([PushRecord](), 0)
                    repeat {
                        let page = try reader.pushPage(filter, scanning: scanning)
                        rows += page.rows
                        filter.after = page.next
                        count += 1
                    } while filter.after != nil && count < 100
                    #expect(rows == whole, "\(filter), \(scanning) at a time")
                    filter.after = nil
                }
            }
            #expect(try reader.pushes(PushFilter(until: at(0))) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `devices come page by page, with their tokens, and one by one`(_ kind: StoreKind) async throws {
        let devices = (0..<25).map { number -> DeviceRecord in
            var device = DeviceRecord.full(user: "user\(number / 4)", device: DeviceID(high: 1, low: UInt64(number)))
            if number % 5 != 0 { device.suspendedAt = nil }
            return device
        }
        try await withStore(kind, devices.map { .device($0) }) { _, reader throws in
            let suspended = devices.filter { $0.suspendedAt != nil }
            for (filter, whole) in [
                (DeviceFilter(limit: 7), devices), (DeviceFilter(suspendedOnly: true, limit: 2), suspended),
                (DeviceFilter(user: handle("user3"), limit: 1), Array(devices[12..<16])),
            ] {
                var (filter, rows, pages) = (filter, [DeviceRecord](), 0)
                while case let page = try reader.devices(filter), let last = page.last, pages < 50 {
                    #expect(page.count <= filter.limit)
                    rows += page
                    pages += 1
                    filter.after = last.key
                }
                #expect(rows == whole)
            }
            #expect(try reader.device(devices[9].key) == devices[9])
            #expect(try reader.device(DeviceKey(user: handle("user0"), device: devices[9].key.device)) == nil)
            #expect(try reader.devices() == devices)
        }
    }

    @Test func `a read of one reader does not wait for that of another`() throws {
        try withStore(Self.calls.map { .call($0) }) { store, phones, folder throws in
            let administrators = try StoreReader.open(folder: folder.path)
            // Within a read of the one, the other reads, and a commit comes through.
            let seen = try administrators.read { _ in
                try store.commit([.device(.full())])
                return try phones.history(of: handle("bob"), limit: 5).entries.count
            }
            #expect(seen >= 5)
            #expect(try administrators.devices().count == 1)
        }
    }
}
