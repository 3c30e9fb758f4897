import CallVocabulary
import StoreInterface
import StoreTesting
import Synchronization
import Testing

@testable import PostgresStore

/// Several processes of one realm: who takes the lease, and what they know of each other.
@Suite struct RealmTests {
    /// What was reported, in order.
    private final class Reports<Report: Sendable>: Sendable {
        private let entries = Mutex<[Report]>([])

        var all: [Report] { entries.withLock { $0 } }

        func add(_ report: Report) { entries.withLock { $0.append(report) } }
    }

    @Test func `a hand-over is told to the home once, and only the successor may take the lease that it gives back`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let (home, successor) = (RealmNode(name: "home"), RealmNode(name: "successor"))
        let store = try PostgresStore.open(address, home)
        let ends = Reports<TermEnd>()
        store.whenTermEnds { ends.add($0) }
        #expect(try !Realm.handOver(address, to: home.id), "it is the home already")
        #expect(try Realm.handOver(address, to: successor.id))
        await eventually("the home is told") { ends.all == [.handover] }
        store.close()
        #expect(ends.all == [.handover])
        let failure = #expect(throws: StoreFailure.self) {
            try PostgresStore.open(address, RealmNode(name: "third"), patience: .zero)
        }
        #expect(failure?.reason == .livingHome)
        let next = try PostgresStore.open(address, successor, patience: .zero)
        #expect(next.term.epoch == 2 && next.term.isHeld)
        #expect(try Session(address).number("SELECT count(*) FROM lease WHERE handover_to IS NULL") == 1)
        next.close()
        #expect(try !Realm.handOver(address, to: successor.id), "there is no home")
    }

    @Test func `when the successor does not take the lease, another process takes it one period later`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, RealmNode(name: "home"))
        #expect(try Realm.handOver(address, to: RealmNode(name: "gone").id))
        store.close()
        let session = try Session(address)
        // By the clock of the database, which decides: a busy machine may be late by seconds.
        try session.run("CREATE TABLE given AS SELECT until FROM lease")
        let third = try await openApart(address, name: "third")
        let kept = try session.number(
            "SELECT (extract(epoch FROM lease.until - given.until) * 1000)::bigint FROM lease, given")
        // It was taken one period after it was given back, and ends a period after that, or after its renewal.
        #expect(Duration.milliseconds(try #require(kept)) >= Lease.duration * 2)
        // It takes no second period.
        #expect(try Realm.handOver(address, to: RealmNode(name: "gone").id))
        third.close()
        try session.run("UPDATE lease SET until = now() - interval '\(Lease.duration / .milliseconds(1)) milliseconds'")
        try PostgresStore.open(address, RealmNode(name: "fourth"), patience: .zero).close()
    }

    @Test func `a home that another process has fenced is told so once, at once if it asks later`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, RealmNode(name: "first"))
        let ends = Reports<TermEnd>()
        store.whenTermEnds { ends.add($0) }
        let next = try takeOver(address, name: "second")
        await eventually("the first is told") { !ends.all.isEmpty }
        guard case .fenced(let failure)? = ends.all.first else { return #expect(Bool(false), "\(ends.all)") }
        #expect(failure.reason == .fenced)
        #expect(!store.term.isHeld)
        store.whenTermEnds { ends.add($0) }
        #expect(ends.all == [.fenced(failure), .fenced(failure)])
        store.close()
        next.close()
    }

    @Test func `a standby sees the home, and that it is free when the lease was given back`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, RealmNode(name: "first", address: "192.0.2.1:7350"))
        let sights = Reports<RealmSight>()
        let standby = RealmNode(name: "second", address: "192.0.2.2:7350", version: "2")
        let watch = try StandbyWatch(address, standby, .init([]) { _ in nil }) { sights.add($0) }
        await eventually("it sees the home") { sights.all == [.home("first (192.0.2.1:7350)")] }
        await eventually("the home sees it") { store.term.standbys == ["second"] }
        let status = try Realm.status(address)
        #expect(
            status.members.map(\.node.name) == ["first", "second"] && status.members.map(\.isHome) == [true, false])
        #expect(status.standbys.map(\.node) == [standby])
        #expect(status.hasHome && status.epoch == 1 && status.home == "first (192.0.2.1:7350)")
        store.close()
        await eventually("it is free") { sights.all.last == .free }
        #expect(try !Realm.status(address).hasHome)
        await watch.stop()
    }

    @Test func `a standby takes what the nodes share as soon as it is there, and says what is wrong with it`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, RealmNode(name: "first"))
        let taken = Reports<[String: [UInt8]]>()
        let watch = try StandbyWatch(
            address, RealmNode(name: "second"),
            .init(["a.key", "b.key"]) { contents in
                taken.add(contents)
                return contents.isEmpty ? nil : "a.key differs"
            }
        ) { _ in }
        await eventually("it has looked") { !taken.all.isEmpty }
        #expect(taken.all[0] == [:])
        #expect(try Realm.status(address).members.allSatisfy { $0.problem == nil })
        _ = try Realm.keep("a.key", [1], in: address)
        await eventually("it has the content") { taken.all.last == ["a.key": [1]] }
        try await eventually("others see what is wrong") {
            try Realm.status(address).members.map(\.problem) == [nil, "a.key differs"]
        }
        await watch.stop()
        store.close()
    }

    @Test func `a standby goes on without the database, and sees the realm when it is back`() async throws {
        let server = try await PostgresServer.start()
        let address = server.address(realm: "reveille")
        let store = try PostgresStore.open(address, RealmNode(name: "first"))
        let sights = Reports<RealmSight>()
        let watch = try StandbyWatch(address, RealmNode(name: "second"), .init([]) { _ in nil }) { sights.add($0) }
        await eventually("it sees a home") { sights.all == [.home("first")] }
        try await server.stop("immediate")
        await eventually("it sees no database") {
            if case .unreachable? = sights.all.last { true } else { false }
        }
        try await server.restart()
        await eventually("it sees the home again") { sights.all.last == .home("first") }
        await watch.stop()
        store.close()
        // A home that has not reached the database again yet leaves its own.
        #expect(
            try !Realm.status(address).members.map(\.node.name).contains("second"),
            "a standby that ends takes its name away")
        try await server.remove()
    }

    @Test func `a lease that nobody renews ends, although the clock of a database that was promoted is far behind`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, RealmNode(name: "first"))
        store.keeper.stop(givesBack: false)
        let session = try Session(address)
        try session.run("UPDATE lease SET until = now() + interval '1 hour'")
        let sights = Reports<RealmSight>()
        let second = RealmNode(name: "second")
        let watch = try StandbyWatch(address, second, .init([]) { _ in nil }) { sights.add($0) }
        await eventually("it is free") { sights.all == [.home("first"), .free] }
        await watch.stop()
        let next = try PostgresStore.open(address, second, patience: .zero)
        #expect(next.term.epoch == 2)
        next.close()
        store.close()
    }

    @Test func `a lease that is renewed does not end, whatever the clock of the database`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, RealmNode(name: "first"))
        store.keeper.stop(givesBack: false)
        let (connection, session) = (try Session(address).connection, try Session(address))
        // Times are written with the abbreviation of their zone then, which PostgreSQL reads as that of Israel.
        try connection.runSimple("SET DateStyle = 'SQL, DMY'; SET TimeZone = 'Asia/Kolkata'")
        try session.run("UPDATE lease SET until = now() + interval '1 hour'")
        let old = try #require(try Lease.sight(connection, RealmNode(name: "second")).mark)
        try session.run("UPDATE lease SET until = now() + interval '2 hours'")
        try Lease.endUnrenewed(old, connection)
        #expect(try session.number("SELECT count(*) FROM lease WHERE until > now() + interval '90 minutes'") == 1)
        let present = try #require(try Lease.sight(connection, RealmNode(name: "second")).mark)
        try Lease.endUnrenewed(present, connection)
        #expect(try Lease.sight(connection, RealmNode(name: "second")).sight == .free)
        // The home goes on if it comes first.
        #expect(try Lease.renew(connection, store.lease.key) != nil)
        store.close()
    }

    @Test func `what the nodes share is written by the first one, and state by the home`() async throws {
        let address = try await PostgresServer.freshAddress()
        let first = try PostgresStore.open(address, RealmNode(name: "first"))
        first.close()
        #expect(try Realm.keep("a.key", nil, in: address) == nil)
        #expect(try Realm.keep("a.key", [1, 2], in: address) == [1, 2])
        #expect(try Realm.keep("a.key", [3], in: address) == [1, 2])
        let long = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        #expect(try Realm.keep("long.key", long, in: address) == long)
        #expect(try Realm.kept(["a.key", "long.key", "no.key"], in: address) == ["a.key": [1, 2], "long.key": long])
        let kept = KeptConnection(address, first.term.key)
        let (state, other) = (KeptState("webhooks", on: kept), KeptState("other", on: kept))
        #expect(try state.read() == nil)
        try state.write([0, 255])
        #expect(try other.read() == nil)
        // The states of a home share one connection.
        let states = "FROM pg_stat_activity WHERE application_name = 'reveille state \(address.realm)'"
        #expect(try Session(address).number("SELECT count(*) \(states)") == 1)
        try state.write([7])
        let second = try PostgresStore.open(address, RealmNode(name: "second"))
        second.close()
        let failure = #expect(throws: StoreFailure.self) { try state.write([8]) }
        #expect(failure?.reason == .fenced)
        #expect(try KeptState("webhooks", on: KeptConnection(address, second.term.key)).read() == [7])
    }

    @Test func `changes of what the nodes share come one after the other, and none is lost`() async throws {
        let address = try await PostgresServer.freshAddress()
        try PostgresStore.open(address, RealmNode(name: "first")).close()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in UInt8(0)..<8 {
                group.addTask { try await apart { try Realm.change("list", in: address) { $0 + [number] } } }
            }
            try await group.waitForAll()
        }
        let content = try #require(try Realm.keep("list", nil, in: address))
        #expect(content.sorted() == Array(0..<8))
        try Realm.change("list", in: address) { $0.filter { $0 > 5 } }
        #expect(try Realm.kept(["list"], in: address)["list"]?.sorted() == [6, 7])
        try Realm.change("list", in: address) { _ in [] }
        #expect(try Realm.keep("list", nil, in: address) == [])
    }

    @Test func `a realm that does not exist is named`() async throws {
        let address = try await PostgresServer.freshAddress()
        let failure = #expect(throws: StoreFailure.self) { try Realm.status(address) }
        #expect(failure?.reason == .noStore && failure?.detail.contains(address.realm) == true)
    }
}
