import CallCore
import CallVocabulary
import GRDB
import RecordTables
import StoreInterface
import Testing

@testable import CallStore

@Suite struct RoundTripTests {
    @Test func `the samples set every field, so that a new one cannot be forgotten here`() {
        let call = CallRecord.full()
        let leg = LegRecord.full(of: call)
        let records: [Any] = [DeviceRecord.full(), call, leg, PushRecord.full(of: leg)]
        for record in records {
            // Only a list that was cut has `toCount`.
            for (name, value) in Mirror(reflecting: record).children where name != "toCount" {
                let isNil = Mirror(reflecting: value).displayStyle == .optional && "\(value)" == "nil"
                #expect(!isNil, "\(type(of: record)).\(name ?? "?") is nil")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `every record comes back from recovery with all its fields`(_ kind: StoreKind) async throws {
        let device = DeviceRecord.full()
        var bare = DeviceRecord.full(user: "ann")
        bare.app = nil
        bare.name = nil
        bare.tokens = []
        bare.suspendedAt = nil
        let call = CallRecord.full()
        let leg = LegRecord.full(of: call)
        let push = PushRecord.full(of: leg)
        let offer = DescriptionsRecord(
            call: call.id, offer: RawJSON(bytes: Array(#""v=0\r\n\u00e9é""#.utf8)),
            custom: RawJSON(bytes: Array("[ 1]".utf8)))
        let missed = MissedCall(call: .random(), from: handle("carol"), at: at(7), reason: .ringTimeout, video: true)
        try await withStore(
            kind,
            [
                .device(device), .device(bare), .call(call), .leg(leg), .push(push), .descriptions(offer),
                .missed(user: handle("bob"), missed),
            ]
        ) { store, reader throws in
            let state = try store.whole()
            #expect(state.devices == [bare, device])
            #expect(state.calls == [call])
            #expect(state.legs == [leg])
            #expect(state.pushes == [push])
            #expect(state.descriptions == [offer])
            #expect(state.missed == [WholeState.Missed(user: handle("bob"), call: missed)])

            let read = try #require(try reader.call(call.id))
            #expect(read == StoredCall(call: call, legs: [leg], pushes: [push]))
            #expect(try reader.push(push.id) == push)
            #expect(try reader.devices(user: handle("bob")) == [device])
            #expect(try reader.devices() == [bare, device])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a device that is dropped is gone with its tokens, and may come back`(_ kind: StoreKind) async throws {
        let (gone, back) = (DeviceRecord.full(), DeviceRecord.full())
        try await withStore(kind, [.device(gone), .device(back), .deviceDropped(gone.key)]) { store, reader throws in
            #expect(try reader.devices() == [back])
            try store.commit([.deviceDropped(back.key)])
            #expect(try reader.devices().isEmpty)
            #expect(try reader.number("SELECT count(*) FROM push_token") == 0)
            try store.commit([.deviceDropped(back.key), .device(back)])
            #expect(try store.whole().devices == [back])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a hunt at its end has no next step, and a call that rings all at once no hunt`(_ kind: StoreKind) async throws
    {
        var (over, all) = (CallRecord.live(to: .group("sales")), CallRecord.live(to: .group("all")))
        over.members = []
        over.hunt = CallRecord.HuntProgress(rung: 0, nextAt: nil)
        all.members = [handle("bob")]
        try await withStore(kind, [.call(over), .call(all)]) { store, _ throws in
            #expect(try store.whole().calls == [over, all])
            over.hunt = CallRecord.HuntProgress(rung: 1, nextAt: at(5))
            try store.commit([.call(over)])
            #expect(try store.whole().calls == [over, all])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `every state, reason and status is kept by its word`(_ kind: StoreKind) async throws {
        var records: [StoreRecord] = []
        var calls: [CallRecord] = []
        for state in CallState.allCases {
            for reason in EndReason.allCases {
                var call = CallRecord.live(createdAt: at(Int64(calls.count)))
                call.state = state
                call.endReason = reason
                calls.append(call)
                records.append(.call(call))
            }
        }
        var pushes: [PushRecord] = []
        for status in ProviderStatus.allCases {
            for report in ReportStatus.allCases.map(Optional.some) + [nil] {
                var push = PushRecord.sample(of: .sample(of: calls[0]), intendedAt: at(Int64(pushes.count)))
                push.status = status
                push.report = report
                pushes.append(push)
                records.append(.push(push))
            }
        }
        try await withStore(kind, records) { _, reader throws in
            #expect(try reader.calls(CallFilter(limit: 1000)) == calls.reversed())
            #expect(try reader.pushes(PushFilter(limit: 1000)) == pushes.reversed())
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a list that was cut comes back with its length`(kind: StoreKind) async throws {
        var record = CallRecord.ended(to: .users([handle("a"), handle("b")]))
        (record.toCount, record.members) = (950, [])
        let call = record
        try await withStore(kind, [.call(call)]) { _, reader throws in
            #expect(try reader.calls(CallFilter(limit: 9)) == [call])
        }
    }

    @Test(
        arguments: StoreKind.allCases,
        [
            CallTarget.user(handle("bob")), .user(handle("\"\\{}")), .users([]), .users([handle("a"), handle("é📞")]),
            .group("Sales \"north\"\n\u{1}\\"), .group(""),
        ])
    func `who is called comes back as it was`(kind: StoreKind, target: CallTarget) async throws {
        var text: [UInt8] = []
        CallTargetText.append(target, to: &text)
        #expect(CallTargetText.read(String(decoding: text, as: UTF8.self)) == target)
        try await withStore(kind, [.call(.live(to: target))]) { store, _ throws in
            #expect(try store.whole().calls.map(\.to) == [target])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an empty text is not nothing`(_ kind: StoreKind) async throws {
        var call = CallRecord.live()
        call.callerName = ""
        let offer = DescriptionsRecord(call: call.id, offer: RawJSON(bytes: []), custom: nil)
        try await withStore(kind, [.call(call), .descriptions(offer)]) { store, _ throws in
            #expect(try store.whole().calls == [call])
            #expect(try store.whole().descriptions == [offer])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a later record takes the place of an earlier one, in one batch and in two`(_ kind: StoreKind) async throws {
        let full = CallRecord.full()
        var bare = CallRecord.live(full.id, createdAt: full.createdAt)
        bare.caller = full.caller
        let leg = LegRecord.full(of: full)
        var lateLeg = leg
        lateLeg.endReason = nil
        lateLeg.state = .ended
        let push = PushRecord.full(of: leg)
        let barePush = PushRecord.sample(of: leg)
        let device = DeviceRecord.full()
        var lateDevice = device
        lateDevice.tokens = [DeviceRecord.Token(token: .sample("third"), registeredAt: at(9))]
        lateDevice.suspendedAt = nil
        let early: [StoreRecord] = [.call(full), .leg(leg), .push(push), .device(device)]
        let late: [StoreRecord] = [.call(bare), .leg(lateLeg), .push(barePush), .device(lateDevice)]
        for batches in [[early, late], [early + late]] {
            try await withStore(kind) { store, reader throws in
                let rows = try batches.map { try store.commit($0) }
                #expect(rows.allSatisfy { $0 == 4 }, "each key is written once a batch")
                let read = try #require(try reader.call(full.id))
                #expect(read == StoredCall(call: bare, legs: [lateLeg], pushes: [barePush]))
                #expect(try reader.devices() == [lateDevice])
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `an offer that is dropped is gone, also when it was made in the same batch`(_ kind: StoreKind) async throws {
        let (kept, dropped, returned) = (CallRecord.live(), CallRecord.live(), CallRecord.live())
        func offer(_ call: CallRecord) -> DescriptionsRecord {
            DescriptionsRecord(call: call.id, offer: RawJSON(bytes: Array("{}".utf8)), custom: nil)
        }
        let calls = [kept, dropped, returned].map { StoreRecord.call($0) }
        try await withStore(kind, calls + [.descriptions(offer(kept))]) { store, _ throws in
            try store.commit([
                .descriptions(offer(dropped)), .descriptionsDropped(dropped.id), .descriptionsDropped(returned.id),
                .descriptions(offer(returned)),
            ])
            #expect(try store.whole().descriptions == [offer(kept), offer(returned)])
            try store.commit([.descriptionsDropped(kept.id)])
            #expect(try store.whole().descriptions == [offer(returned)])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `clearing covers the missed calls before it, and not those that come after it in the batch`(_ kind: StoreKind)
        async throws
    {
        func missed(_ time: Int64) -> MissedCall {
            MissedCall(call: .random(), from: handle("carol"), at: at(time), reason: .ringTimeout, video: false)
        }
        let (old, last, new, late, other) = (missed(1), missed(5), missed(6), missed(2), missed(1))
        let bob = handle("bob")
        try await withStore(kind, [.missed(user: bob, old), .missed(user: handle("eve"), other)]) { store, _ throws in
            try store.commit([
                .missed(user: bob, last), .missed(user: bob, new), .missedCleared(user: bob, upTo: at(5)),
                .missed(user: bob, late),
            ])
            #expect(try store.whole().missed.map(\.call) == [late, new, other])
        }
    }

    @Test func `a batch that fails leaves nothing behind, and the next one is written`() throws {
        try withStore { store, reader, _ throws in
            let disk = StoreDisk(of: store)
            try disk.fill()
            let calls = (0..<500).map { CallRecord.live(createdAt: at($0)) }
            let thrown = failure { () throws(StoreFailure) in try store.commit(calls.map { .call($0) }) }
            #expect(thrown?.reason == .diskFull)
            #expect(try reader.calls().isEmpty)

            try disk.free()
            try store.commit([.call(calls[7])])
            #expect(try reader.calls() == [calls[7]], "nothing of the failed batch came with the next one")
        }
    }

    @Test func `the views show ids and times as people write them`() throws {
        let call = CallRecord.full()
        let leg = LegRecord.full(of: call)
        let push = PushRecord.full(of: leg)
        try withStore([.device(.full()), .call(call), .leg(leg), .push(push)]) { store, _, _ throws in
            try store.tables.queue.read { database throws in
                let row = try #require(try Row.fetchOne(database, sql: "SELECT * FROM calls_readable"))
                #expect(row["id"] == call.id.description)
                #expect(row["created_at"] == "2026-09-21T14:13:20.010Z")
                #expect(row["merged_into"] == call.mergedInto?.description)
                #expect(row["members"] == #"["bob","q\"uo\\te","é📞"]"#)
                #expect(row["hunt_rung"] == 2)
                #expect(row["hunt_next_at"] == "2026-09-21T14:13:20.027Z")
                #expect(try String.fetchOne(database, sql: "SELECT call FROM legs_readable") == call.id.description)
                #expect(try String.fetchOne(database, sql: "SELECT id FROM pushes_readable") == push.id.description)
                #expect(try Int.fetchOne(database, sql: "SELECT tokens FROM devices_readable") == 2)
            }
        }
    }
}
