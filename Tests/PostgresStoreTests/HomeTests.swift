import CallCore
import CallVocabulary
import Glibc
import RecordTables
import StoreInterface
import StoreTesting
import Synchronization
import Testing

@testable import PostgresStore

/// Who is the home of a realm, and what the others may do.
@Suite struct HomeTests {
    @Test func `a living home is named to another process, which may begin when it was closed`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first.example:7350")
        let failure = #expect(throws: StoreFailure.self) { try PostgresStore.open(address, name: "second") }
        #expect(failure?.reason == .livingHome)
        #expect(failure?.detail.hasPrefix("the realm's home is first.example:7350; ") == true)
        store.close()
        // The lease was given back: nobody waits for its end.
        try PostgresStore.open(address, name: "second", patience: .zero).close()
    }

    @Test func `a realm without a row of its lease or home says so, to a server that starts and to one that stands by`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        try PostgresStore.open(address, name: "first").close()
        let session = try Session(address)
        let standby = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "a standby", patience: .seconds(30)))
        for table in ["lease", "home"] {
            try session.run("CREATE TEMPORARY TABLE kept AS SELECT * FROM \(table)")
            try session.run("DELETE FROM \(table)")
            let unopened = #expect(throws: StoreFailure.self) {
                try PostgresStore.open(address, name: "second", patience: .zero)
            }
            let unseen = #expect(throws: StoreFailure.self) { try Lease.sight(standby, RealmNode(name: "third")) }
            for failure in [unopened, unseen] {
                #expect(failure?.reason == .corrupted)
                #expect(failure?.detail.contains("the table \(table) has no row") == true)
            }
            try session.run("INSERT INTO \(table) SELECT * FROM kept")
            try session.run("DROP TABLE kept")
        }
        try PostgresStore.open(address, name: "second").close()
    }

    @Test func `a home whose row is gone is told by the renewal of its lease, before a commit`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first")
        store.keeper.stop(givesBack: false)
        let session = try Session(address)
        try session.run("CREATE TEMPORARY TABLE held AS SELECT * FROM home")
        try session.run("DELETE FROM home")
        let key = store.term.key
        let failure = #expect(throws: StoreFailure.self) { try Lease.renew(session.connection, key) }
        #expect(failure?.reason == .corrupted && failure?.detail.contains("the table home has no row") == true)
        try session.run("INSERT INTO home SELECT * FROM held")
        #expect(try Lease.renew(session.connection, key) != nil)
        store.close()
    }

    @Test func `a lease that an administrator has edited is told in words, and quoted on one line`() async throws {
        let address = try await PostgresServer.freshAddress()
        try PostgresStore.open(address, name: "first").close()
        let session = try Session(address)
        try session.run("UPDATE lease SET until = 'infinity', address = E'x\\nready \\x1b]0;y'")
        let endless = #expect(throws: StoreFailure.self) {
            try PostgresStore.open(address, name: "second", patience: .zero)
        }
        #expect(endless?.reason == .livingHome && endless?.detail.contains("x\\u{A}ready \\u{1B}]0;y") == true)
        let standby = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "a standby", patience: .seconds(30)))
        #expect(try Lease.sight(standby, RealmNode(name: "third")).sight == .home("x\\u{A}ready \\u{1B}]0;y"))
        try session.run("UPDATE lease SET until = '-infinity', epoch = 9223372036854775807")
        let uncounted = #expect(throws: StoreFailure.self) { try PostgresStore.open(address, name: "second") }
        #expect(uncounted?.reason == .corrupted && uncounted?.detail.contains("lease.epoch") == true)
        // As the words say.
        try session.run("UPDATE lease SET epoch = home.epoch, until = '-infinity' FROM home")
        try PostgresStore.open(address, name: "second").close()
    }

    @Test func `a journal whose last commit has a number that no home writes is refused`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first")
        try store.commit([.call(.live())])
        store.close()
        for number in ["9223372036854775807", "-9223372036854775808"] {
            try Session(address).run("UPDATE journal SET commit_no = \(number) WHERE operations IS NULL")
            let failure = #expect(throws: StoreFailure.self) { try PostgresStore.open(address, name: "next") }
            #expect(failure?.reason == .corrupted && failure?.detail.contains(number) == true)
        }
    }

    @Test func `a home that was killed is waited for until its lease ends`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first")
        try store.commit([.call(.live())])
        // As after a kill: nobody renews the lease, and nobody gives it back.
        store.keeper.stop(givesBack: false)
        let next = try await openApart(address, name: "second")
        #expect(try next.recover().calls.count == 1)
        next.close()
    }

    @Test func `a former home that is stopped within a transaction does not hold up the next one`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first")
        let call = CallRecord.live()
        try store.commit([.call(call)])
        try store.write([[.call(call)]])
        store.keeper.stop(givesBack: false)
        let stopped = try PostgresConnection(address, PostgresTables.purpose)
        try stopped.runSimple("BEGIN")
        try stopped.runSimple("UPDATE call SET state = 'ended'")
        let began = ContinuousClock.now
        let next = try await openApart(address, name: "second")
        #expect(ContinuousClock.now - began < .seconds(15))
        #expect(try next.recover().calls == [call])
        #expect(throws: StoreFailure.self) { try stopped.runSimple("COMMIT") }
        next.close()
    }

    @Test func `the settings that may lose commits are told`() async throws {
        let server = try await PostgresServer.start(settings: ["full_page_writes = off"])
        let store = try PostgresStore.open(server.address(realm: "reveille"), name: "a test")
        #expect(try store.warnings() == [.fullPageWritesOff])
        store.close()
        try await server.remove()
    }

    @Test func `of processes that start at once one becomes the home`() async throws {
        let address = try await PostgresServer.freshAddress()
        final class Failures: Sendable {
            let count = Mutex(0)
        }
        let failures = Failures()
        let outcomes = await withTaskGroup(of: String.self) { group in
            for number in 0..<6 {
                group.addTask {
                    do {
                        let store = try PostgresStore.open(address, name: "\(number)", patience: .zero)
                        await eventually("the others fail while it is the home") {
                            failures.count.withLock { $0 } == 5
                        }
                        store.close()
                        return "home"
                    } catch {
                        failures.count.withLock { $0 += 1 }
                        return (error as? StoreFailure).map { "\($0.reason)" } ?? "\(error)"
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == "home" } == 1)
        #expect(outcomes.count { $0 == "livingHome" } == 5, "\(outcomes)")
    }

    @Test func `after another process has taken the lease nothing is acknowledged, and the log takes no more`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "first"))
        let outcomes = Outcomes()
        #expect(outcomes.commit("before", [.call(.live())], to: committer))
        await committer.flush()
        let next = try takeOver(address, name: "second")
        _ = outcomes.commit("after", [.call(.live())], to: committer)
        await eventually("the first home knows") { committer.failure?.reason == .fenced }
        await eventually("no batch waits") { committer.waiting == 0 }
        #expect(!outcomes.commit("late", [.call(.live())], to: committer))
        #expect(!outcomes.all.contains("after durable"), "\(outcomes.all)")
        await committer.close()
        #expect(try next.recover().calls.count == 1)
        // The first home's close did not take the lease from the second.
        try next.commit([.call(.live())])
        #expect(try next.recover().calls.count == 2)
        next.close()
    }

    @Test func `a commit of an earlier epoch writes nothing`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first")
        try store.commit([.call(.live())])
        try Session(address).run("UPDATE home SET epoch = epoch + 1")
        let failure = #expect(throws: StoreFailure.self) { try store.commit([.call(.live())]) }
        #expect(failure?.reason == .fenced)
        #expect(try Session(address).number("SELECT max(commit_no) FROM journal") == 1)
        #expect(store.lease.standing() == .ended(try #require(failure)))
        store.close()
    }

    @Test func `of two homes with one number, the one whose term the database has not is fenced, and changes nothing`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "first")
        let session = try Session(address)
        try store.write([[.call(.live())]])
        // As in a standby that was promoted without this take-over: another process got the number from it.
        try session.run("UPDATE lease SET term = gen_random_uuid(), owner = NULL, until = now() + interval '1 hour'")
        try session.run("UPDATE home SET term = lease.term FROM lease")
        let failure = #expect(throws: StoreFailure.self) { try store.write([[.call(.live())]]) }
        #expect(failure?.reason == .fenced)
        #expect(throws: StoreFailure.self) { try store.tables.catchUp(records: .max) }
        var run = RetentionRun(RetentionPolicy(), now: at(1 << 40))
        let deletion = #expect(throws: StoreFailure.self) {
            try store.tables.deleteSlice(&run, rows: 1, until: { false })
        }
        #expect(deletion?.reason == .fenced)
        let state = KeptState("state", on: KeptConnection(address, store.term.key))
        #expect(throws: StoreFailure.self) { try state.write([1]) }
        await eventually("its keeper knows") { store.term.isHeld == false }
        store.close()
        #expect(try session.number("SELECT count(*) FROM journal WHERE operations IS NOT NULL") == 1)
        #expect(try session.number("SELECT count(*) FROM call") == 0)
        #expect(try session.number("SELECT count(*) FROM lease WHERE until > now() + interval '30 minutes'") == 1)
    }

    @Test func `each commit has the id of its term`() async throws {
        let address = try await PostgresServer.freshAddress()
        for number in Int64(1)...2 {
            let store = try PostgresStore.open(address, name: "home")
            try store.commit([.call(.live())])
            let same = "journal.term = home.term AND home.term = lease.term"
            #expect(try Session(address).number("SELECT count(*) FROM journal, home, lease WHERE \(same)") == 1)
            #expect(store.term.epoch == number)
            store.close()
        }
        #expect(try Session(address).number("SELECT count(*) FROM journal") == 1)
    }

    @Test func `the tables of the version before ids of terms are migrated by a take-over only`() async throws {
        let address = try await PostgresServer.freshAddress()
        try PostgresStore.open(address, name: "first").close()
        let session = try Session(address)
        for table in ["home", "lease", "journal"] { try session.run("ALTER TABLE \(table) DROP COLUMN term") }
        try session.run("DELETE FROM schema_version WHERE version = \(PostgresSchema.firstWithTerms)")
        let version = "SELECT max(version)::bigint FROM schema_version"
        // A home of that version, which finds no table changed.
        try session.run("UPDATE lease SET until = now() + interval '1 hour'")
        let failure = #expect(throws: StoreFailure.self) {
            try PostgresStore.open(address, name: "second", patience: .zero)
        }
        #expect(failure?.reason == .livingHome)
        #expect(try session.number(version) == 3)
        try session.run("UPDATE lease SET until = now()")
        let store = try PostgresStore.open(address, name: "second", patience: .zero)
        #expect(store.term.epoch == 2)
        try store.commit([.call(.live())])
        #expect(try session.number(version) == Int64(PostgresSchema.newest))
        store.close()
    }

    @Test func `the clock of a term is the database's, counted from the boot of this machine`() async throws {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "home")
        var sinceBoot = timespec()
        clock_gettime(CLOCK_BOOTTIME, &sinceBoot)
        let told = store.term.clockOrigin + Int64(sinceBoot.tv_sec) * 1000 + Int64(sinceBoot.tv_nsec) / 1_000_000
        let now = try #require(
            try Session(address).number("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint"))
        // Half of the round trip at the take-over, and this one.
        #expect(abs(told - now) < 10_000)
        store.keeper.stop(givesBack: false)
        let first = store.term.clockOrigin
        let renewal = try #require(try Lease.renew(try Session(address).connection, store.term.key))
        // nil when this machine is busy.
        #expect(renewal.clockOrigin.map { abs($0 - first) < 10_000 } ?? true)
        // The database's clock is set, and a later answer takes too long.
        store.lease.renewed(until: .now, clockOrigin: first + 3_600_000)
        store.lease.renewed(until: .now, clockOrigin: nil)
        #expect(store.term.clockOrigin == first + 3_600_000)
        store.close()
    }

    @Test func `while the lease cannot be renewed commits are durable and not acknowledged, and then they are`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "first"))
        let session = try Session(address)
        try session.run("BEGIN")
        try session.run("SELECT 1 FROM lease FOR UPDATE")
        // Longer than the lease.
        try await Task.sleep(for: Lease.duration)
        let outcomes = Outcomes()
        let call = CallRecord.live()
        #expect(outcomes.commit("held", [.call(call)], to: committer))
        let look = try Session(address)
        try await eventually("it is durable") { try look.number("SELECT max(commit_no) FROM journal") == 1 }
        await eventually("the log is not healthy") { !committer.isHealthy }
        #expect(outcomes.all == [] && committer.waiting == 1)
        try session.run("ROLLBACK")
        await eventually("it is acknowledged") { outcomes.all == ["held durable"] }
        #expect(committer.isHealthy && committer.waiting == 0)
        await committer.close()
    }
}
