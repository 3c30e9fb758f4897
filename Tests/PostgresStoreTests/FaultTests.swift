import CallCore
import CallVocabulary
import Foundation
import RecordTables
import StoreInterface
import StoreTesting
import Synchronization
import Testing

@testable import PostgresStore

/// Lost connections, crashes of the database, and what is left of a commit then. Each test has a cluster of its own.
@Suite(.serialized)
struct FaultTests {
    private static func server(_ settings: [String] = []) async throws -> (PostgresServer, PostgresAddress) {
        let server = try await PostgresServer.start(settings: settings)
        return (server, server.address(realm: "reveille"))
    }

    /// Every acknowledged call is in the tables, once. A start applies what the home has left in the journal.
    private static func check(_ stream: Stream, _ address: PostgresAddress) throws {
        try PostgresStore.open(address, name: "home").close()
        let reader = PostgresReader(address)
        let stored = try reader.query { try $0.calls(CallFilter(limit: .max)) }.map(\.id)
        #expect(Set(stored).isSuperset(of: stream.acknowledged))
        #expect(Set(stored).count == stored.count)
        #expect(stored.count - stream.acknowledged.count <= 1, "the last one may be durable and not acknowledged")
        #expect(
            try reader.query { try $0.history(of: handle("bob"), after: nil, limit: 100_000) }.entries.count
                == stored.count)
        #expect(try reader.query { try $0.audit() }.violations == [])
        reader.close()
    }

    @Test func `connections that are cut are made again, and no commit is lost or doubled`() async throws {
        let (server, address) = try await Self.server()
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let stream = Stream(committer)
        stream.goOn()
        let session = try Session(address)
        for _ in 0..<5 {
            for name in ["reveille commits", "reveille tables", "reveille lease"] {
                let count = stream.acknowledged.count
                try session.terminate(name)
                await eventually("commits go on") { stream.acknowledged.count > count + 20 }
            }
        }
        #expect(committer.statistics.failures > 0)
        stream.end()
        await committer.flush()
        await committer.close()
        try Self.check(stream, address)
        try await server.remove()
    }

    @Test func `a database that crashes and comes back costs the time between, and nothing else`() async throws {
        let (server, address) = try await Self.server()
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let stream = Stream(committer)
        stream.goOn()
        for _ in 0..<2 {
            await eventually("commits go on") { stream.acknowledged.count > 50 }
            try await server.stop("immediate")
            await eventually("the log says so") { committer.failure?.reason == .unreachable }
            let count = stream.acknowledged.count
            try await server.restart()
            await eventually("commits go on") { stream.acknowledged.count > count + 50 && committer.isHealthy }
        }
        stream.end()
        await committer.flush()
        await committer.close()
        try Self.check(stream, address)
        try await server.remove()
    }

    @Test func `a home goes on with its ended lease after the database was away, although another process stands by`()
        async throws
    {
        let (server, address) = try await Self.server()
        // A commit that waits for the end of a pause is not repeated within this test.
        let committer = try PostgresCommitter(
            store: try PostgresStore.open(address, name: "home"), pauses: .seconds(600) ... .seconds(600))
        let stream = Stream(committer)
        stream.goOn()
        await eventually("commits go on") { stream.acknowledged.count > 50 }
        let sights = Mutex<[RealmSight]>([])
        let watch = try StandbyWatch(address, RealmNode(name: "standby"), .init([]) { _ in nil }) { sight in
            sights.withLock { $0.append(sight) }
        }
        try await server.stop("immediate")
        await eventually("the lease ends") { !committer.mayRelease }
        await eventually("a commit fails") { committer.statistics.failures > 0 }
        let before = stream.acknowledged.count
        try await server.restart()
        await eventually("the lease is renewed") { committer.mayRelease }
        await eventually("the commit is repeated") { stream.acknowledged.count > before }
        await eventually("commits go on") { stream.acknowledged.count > before + 50 }
        #expect(!sights.withLock { $0.contains(.free) })
        await watch.stop()
        stream.end()
        await committer.close()
        try Self.check(stream, address)
        try await server.remove()
    }

    @Test func `writes to the tables that a crash has undone are repeated, also when nothing more is committed`()
        async throws
    {
        let (server, address) = try await Self.server(["wal_writer_delay = 10000", "wal_writer_flush_after = 0"])
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let outcomes = Outcomes()
        let call = CallRecord.live()
        #expect(outcomes.commit("call", [.call(call)], to: committer))
        await committer.flush()
        #expect(outcomes.all == ["call durable"])
        try await server.stop("immediate")
        try await server.restart()
        let session = try Session(address)
        let undone = try session.number("SELECT count(*) FROM call")
        try await eventually("the call is there again") { try session.number("SELECT count(*) FROM call") == 1 }
        #expect(undone == 0 || undone == 1, "whether the flush was in time is not the store's to say")
        await committer.close()
        let next = try PostgresStore.open(address, name: "home")
        #expect(try next.recover().calls == [call])
        next.close()
        try await server.remove()
    }

    @Test func `a journal that could not be applied again at first is applied before the next commit`() async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        let session = try Session(address)
        try session.run("CREATE TABLE saved (commit_no bigint, operations bytea)")
        try session.run(
            """
            CREATE FUNCTION save() RETURNS trigger LANGUAGE plpgsql AS
            'BEGIN INSERT INTO saved VALUES (NEW.commit_no, NEW.operations); RETURN NULL; END'
            """)
        try session.run("CREATE TRIGGER save AFTER INSERT ON journal FOR EACH ROW EXECUTE FUNCTION save()")
        try store.commit([.call(.live())])
        let last = try #require(try session.number("SELECT max(commit_no) FROM journal"))
        // As after a crash that came before the flush of the tables.
        try session.run("DELETE FROM call")
        try session.run(
            "UPDATE journal SET operations = saved.operations FROM saved WHERE saved.commit_no = journal.commit_no")
        try session.run("INSERT INTO journal (commit_no, epoch, format) VALUES (\(last - 1), 0, 0)")
        try session.run("ALTER TABLE call RENAME TO call_away")
        #expect(throws: StoreFailure.self) { try store.tables.recheck() }
        try session.run("ALTER TABLE call_away RENAME TO call")
        try store.commit([.call(.live())])
        #expect(try session.number("SELECT count(*) FROM call") == 2)
        store.close()
        try await server.remove()
    }

    @Test func `a commit whose answer is lost is found to be written, and is not written twice`() async throws {
        let (server, address) = try await Self.server()
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let session = try Session(address)
        // A commit then waits for a standby that never comes, after it was flushed here.
        try await Self.loseStandby(session)
        let outcomes = Outcomes()
        let event = EventRecord(
            id: .random(), at: at(1), subject: .call(.live(), number: 1, .invited(custom: nil)))
        #expect(outcomes.commit("event", [.event(event)], to: committer))
        try await eventually("it waits for the standby") {
            try session.number(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name LIKE 'reveille commits%'"
            ) == 1
        }
        #expect(outcomes.all == [])
        try session.run("SET synchronous_commit = local")
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        // Before the reload, which would let the commit end by itself.
        try session.terminate("reveille commits")
        try session.run("SELECT pg_reload_conf()")
        await eventually("it is acknowledged") { outcomes.all == ["event durable"] }
        await committer.flush()
        #expect(try session.number("SELECT count(*) FROM event") == 1)
        #expect(try session.number("SELECT max(commit_no) FROM journal") == 1)
        await committer.close()
        try await server.remove()
    }

    /// Has commits wait for a synchronous standby that is not there. A home's renewals must go on: the first that waits
    /// shows that all commits do. A session shows the setting earlier than that (PostgreSQL 15: the checkpointer tells
    /// the others).
    private static func loseStandby(_ session: Session) async throws {
        try session.run("ALTER SYSTEM SET synchronous_standby_names = 'none'")
        try session.run("SELECT pg_reload_conf()")
        try await eventually("a renewal waits") {
            try session.number(
                """
                SELECT count(*) FROM pg_stat_activity
                WHERE wait_event = 'SyncRep' AND application_name LIKE 'reveille lease%'
                """) == 1
        }
    }

    @Test func `a commit whose wait for the synchronous standby is cancelled waits again`() async throws {
        // A default that would hide the warning, which is the only sign.
        let (server, address) = try await Self.server(["client_min_messages = error"])
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let session = try Session(address)
        try await Self.loseStandby(session)
        let outcomes = Outcomes()
        #expect(outcomes.commit("call", [.call(.live())], to: committer))
        let waits = "pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name LIKE 'reveille commits%'"
        // The commit, and twice the look at its outcome.
        for query in ["WITH own%", "SELECT 1 FROM home%", "SELECT 1 FROM home%"] {
            let waiting = "FROM \(waits) AND query LIKE '\(query)'"
            try await eventually("\(query) waits for the standby") {
                try session.number("SELECT count(*) \(waiting)") == 1
            }
            #expect(outcomes.all == [])
            // PostgreSQL reports the commit as done.
            try session.run("SELECT pg_cancel_backend(pid) \(waiting)")
        }
        try await eventually("it waits again") { try session.number("SELECT count(*) FROM \(waits)") == 1 }
        #expect(outcomes.all == [])
        try session.run("SET synchronous_commit = local")
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        try session.run("SELECT pg_reload_conf()")
        await eventually("it is acknowledged") { outcomes.all == ["call durable"] }
        #expect(try session.number("SELECT max(commit_no) FROM journal") == 1)
        await committer.close()
        try await server.remove()
    }

    @Test func `a database that waits for its synchronous standby says so`() async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, RealmNode(name: "home"), commitPatience: .seconds(2))
        let session = try Session(address)
        try await Self.loseStandby(session)
        // Blocks for the 2 s.
        let failure = #expect(throws: StoreFailure.self) { try store.write([[.call(.live())]]) }
        #expect(failure?.reason == .noSynchronousStandby)
        #expect(try Realm.warnings(address) == [.commitsWait])
        try session.run("SET synchronous_commit = local")
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        try session.run("SELECT pg_reload_conf()")
        store.close()
        try await server.remove()
    }

    @Test func `a home that waits for the synchronous standby keeps its lease, and names no other cause`() async throws
    {
        let (server, address) = try await Self.server()
        let reasons = Mutex<[StoreFailure.Reason?]>([])
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home")) { failure in
            reasons.withLock { $0.append(failure?.reason) }
        }
        let session = try Session(address)
        try session.run("ALTER SYSTEM SET synchronous_standby_names = 'none'")
        try session.run("SELECT pg_reload_conf()")
        try await eventually("a renewal waits, and the lease has ended") {
            try session.number(
                """
                SELECT count(*) FROM pg_stat_activity, lease
                WHERE wait_event = 'SyncRep' AND application_name LIKE 'reveille lease%' AND until <= now()
                """) == 1
        }
        await eventually("the cause is named") { committer.failure?.reason == .noSynchronousStandby }
        // A renewal fails by its timeout of 2 s, and the next one begins, which waits for the row of the first.
        func renewal() throws -> Int64? {
            try session.number(
                """
                SELECT (extract(epoch FROM max(query_start)) * 1000)::bigint FROM pg_stat_activity
                WHERE application_name LIKE 'reveille lease%'
                """)
        }
        for _ in 0..<2 {
            let last = try renewal()
            try await eventually("another renewal begins") {
                let next = try renewal()
                return next != nil && next != last
            }
        }
        let other = RealmNode(name: "other")
        let connection = try PostgresConnection(
            address, PostgresConnection.Purpose(name: "a test", patience: .seconds(10)))
        let seen = try Lease.sight(connection, other)
        #expect(seen.sight != .free && seen.mark == nil, "nor does it end the lease by its own clock")
        // It does not wait for the row longer than a second, so that it is not next in line when the wait ends.
        let failure = #expect(throws: StoreFailure.self) { try PostgresStore.open(address, other, patience: .zero) }
        #expect(failure?.reason == .livingHome)
        try session.run("SET synchronous_commit = local")
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        try session.run("SELECT pg_reload_conf()")
        await eventually("the home goes on") { committer.mayRelease }
        await eventually("its health says so") { reasons.withLock { $0 } == [.noSynchronousStandby, nil] }
        #expect(try session.number("SELECT epoch FROM home") == 1)
        await committer.close()
        try await server.remove()
    }

    @Test func `a take-over whose wait for the synchronous standby is cancelled is none, and is not renewed`()
        async throws
    {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "first")
        let session = try Session(address)
        try await Self.loseStandby(session)
        // Ends the home as a kill does, with the renewal that waits and has the row's lock.
        store.keeper.stop(givesBack: false)
        try session.run("SET synchronous_commit = local")
        try session.terminate("reveille lease")
        try session.run("UPDATE lease SET until = now() - interval '1 second'")
        async let opening: Void = apart {
            let failure = #expect(throws: StoreFailure.self) {
                try PostgresStore.open(address, name: "second", patience: .zero).close()
            }
            #expect(failure?.reason == .noSynchronousStandby)
        }
        let waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND application_name LIKE 'reveille start%'"
        try await eventually("the take-over waits for the standby") {
            try session.number("SELECT count(*) \(waiting)") == 1
        }
        // PostgreSQL reports the take-over as done.
        try session.run("SELECT pg_cancel_backend(pid) \(waiting)")
        try await opening
        #expect(try session.number("SELECT epoch FROM home") == 2)
        #expect(
            try session.number(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'reveille lease%'") == 0)
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        try session.run("SELECT pg_reload_conf()")
        let next = try await openApart(address, name: "second")
        #expect(next.term.epoch == 3)
        next.close()
        store.close()
        try await server.remove()
    }

    @Test func `a change of what the nodes share, whose wait for the standby is cancelled, is not reported as done`()
        async throws
    {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        let session = try Session(address)
        try await Self.loseStandby(session)
        let key = store.lease.key
        for change in [
            { _ = try Realm.keep("a.key", [1], in: address) }, { try Realm.change("list", in: address) { _ in [1] } },
            { try KeptState("state", on: KeptConnection(address, key)).write([1]) },
        ] as [@Sendable () throws -> Void] {
            let hasEnded = Mutex(false)
            async let changing: Void = apart {
                let failure = #expect(throws: StoreFailure.self) { try change() }
                #expect(failure?.reason == .noSynchronousStandby)
                hasEnded.withLock { $0 = true }
            }
            try await eventually("the wait for the standby is cancelled") {
                try session.run(
                    """
                    SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
                        AND (application_name LIKE 'reveille realm%' OR application_name LIKE 'reveille state%')
                    """)
                return hasEnded.withLock { $0 }
            }
            try await changing
        }
        try session.run("SET synchronous_commit = local")
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        try session.run("SELECT pg_reload_conf()")
        store.close()
        try await server.remove()
    }

    @Test func `writes that are repeated while the synchronous standby is away keep one connection`() async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        let session = try Session(address)
        try await Self.loseStandby(session)
        let key = store.lease.key
        // Each blocks for 2 s: the first waits for the standby, the others for its lock on the row.
        try await apart {
            let state = KeptState("state", on: KeptConnection(address, key))
            for _ in 0..<3 { #expect(throws: StoreFailure.self) { try state.write([1]) } }
        }
        try await eventually("those that wait for a lock have ended") {
            try session.number("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'reveille state%'")
                == 1
        }
        try session.run("SET synchronous_commit = local")
        try session.run("ALTER SYSTEM RESET synchronous_standby_names")
        try session.run("SELECT pg_reload_conf()")
        store.close()
        try await server.remove()
    }

    @Test func `a connection that is cut during the look at a commit's outcome leaves no lock`() async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        let relay = try Relay(to: server)
        let (key, relayed) = (store.lease.key, relay.address)
        let (session, observer) = (try Session(address), try Session(address))
        try session.run("BEGIN")
        try session.run("SELECT 1 FROM home FOR UPDATE")
        async let looking: Void = apart {
            let patience = Duration.seconds(2)
            let journal = PostgresJournal(
                relayed, key, connection: try PostgresJournal.connect(relayed, patience: patience), patience: patience)
            #expect(throws: StoreFailure.self) { try journal.outcome(of: 1) }
        }
        let looks = "FROM pg_stat_activity WHERE application_name LIKE 'reveille commits%'"
        try await eventually("the look waits for the lock") {
            try observer.number("SELECT count(*) \(looks) AND wait_event_type = 'Lock'") == 1
        }
        relay.silence()
        try session.run("ROLLBACK")
        try await eventually("the look has the lock") {
            try observer.number("SELECT count(*) \(looks) AND state = 'active'") == 0
        }
        #expect(try observer.number("SELECT count(*) \(looks) AND state <> 'idle'") == 0)
        try await looking
        store.close()
        relay.close()
        try await server.remove()
    }

    @Test(arguments: [PostgresTables.purpose.setup, [PostgresConnection.limitsIdleTransactions]])
    func `a transaction whose connection is cut keeps its locks for some seconds`(setup: [String]) async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        let relay = try Relay(to: server)
        let purpose = PostgresConnection.Purpose(name: "a cut one", patience: .seconds(60), setup: setup)
        let connection = try PostgresConnection(relay.address, purpose)
        try connection.runSimple("BEGIN; SELECT 1 FROM home FOR UPDATE")
        relay.silence()
        let session = try Session(address)
        try await eventually("the database ends it") {
            try session.number("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'a cut one%'") == 0
        }
        try session.run("SELECT 1 FROM home FOR UPDATE NOWAIT")
        withExtendedLifetime(connection) {}
        relay.close()
        store.close()
        try await server.remove()
    }

    @Test func `of two hosts one that has fallen silent is tried once, and then the other one first`() async throws {
        let (server, _) = try await Self.server()
        let relay = try Relay(to: server)
        let hosts = [relay.folder, server.folder].map { $0.replacing("/", with: "%2F") }.joined(separator: ",")
        let both = try #require(PostgresAddress("postgres://reveille@\(hosts)/postgres"))
        let purpose = PostgresConnection.Purpose(name: "a test", patience: .seconds(5))
        let first = try PostgresConnection(both, purpose)
        #expect(first.host == relay.folder && relay.connectionCount == 1)
        relay.silence()
        // Blocks until the attempt at the silent host is given up.
        try await apart {
            let second = try PostgresConnection(both, purpose)
            #expect(second.host == server.folder)
        }
        #expect(relay.connectionCount == 2)
        _ = try PostgresConnection(both, purpose)
        #expect(relay.connectionCount == 2)
        relay.close()
        try await server.remove()
    }

    @Test func `a connection that is cut in silence is given up before the lease of its home ends`() {
        let (unacknowledged, probes) = (PostgresConnection.longestUnacknowledged, PostgresConnection.probes)
        #expect(unacknowledged < Lease.duration - Lease.margin)
        // While an answer is awaited: at the second probe, because the other limit is over by then.
        #expect(.seconds(probes.idle + probes.interval) >= unacknowledged)
        #expect(.seconds(probes.idle + probes.interval) < Lease.duration - Lease.margin)
    }

    @Test func `a home whose commits the database has lost stands by once another process is the home`() async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        let told = Mutex<[TermEnd]>([])
        store.whenTermEnds { end in told.withLock { $0.append(end) } }
        try store.commit([.call(.live())])
        let session = try Session(address)
        try session.run("UPDATE journal SET commit_no = commit_no - 1")
        let failure = #expect(throws: StoreFailure.self) { try store.write([[.call(.live())]]) }
        #expect(failure?.reason == .lostCommits && told.withLock { $0 }.isEmpty)
        // Another one has the number, as after a promotion of a database without this take-over.
        try session.run("UPDATE lease SET term = gen_random_uuid(), until = now()")
        await eventually("it is told") { !told.withLock { $0 }.isEmpty }
        guard case .fenced(let cause)? = told.withLock({ $0.first }) else { return #expect(Bool(false)) }
        #expect(cause.reason == .fenced)
        // It does not renew the other's lease, nor give it back.
        #expect(try session.number("SELECT count(*) FROM lease WHERE until <= now()") == 1)
        store.close()
        #expect(try session.number("SELECT count(*) FROM lease WHERE until > '-infinity'") == 1)
        try await server.remove()
    }

    @Test func `a home whose commits the database has lost keeps its lease, and releases nothing`() async throws {
        let (server, address) = try await Self.server()
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let (session, outcomes) = (try Session(address), Outcomes())
        #expect(outcomes.commit("first", [.call(.live())], to: committer))
        await committer.flush()
        try session.run("UPDATE journal SET commit_no = commit_no - 1")
        #expect(outcomes.commit("second", [.call(.live())], to: committer))
        await eventually("it is refused") { outcomes.all == ["first durable", "second lostCommits"] }
        #expect(!committer.mayRelease)
        let renewed = "SELECT (extract(epoch FROM until) * 1000)::bigint FROM lease"
        let then = try #require(try session.number(renewed))
        try await eventually("the lease is renewed") { (try session.number(renewed) ?? 0) > then }
        await committer.close()
        try await server.remove()
    }

    @Test func `a commit takes batches up to a number of bytes, after a failure too`() async throws {
        let (server, address) = try await Self.server()
        let store = try PostgresStore.open(address, name: "home")
        func batch(_ bytes: Int) -> [StoreRecord] {
            let offer = RawJSON(bytes: Array("\"\(String(repeating: "a", count: bytes))\"".utf8))
            return [.descriptions(DescriptionsRecord(call: .random(), offer: offer))]
        }
        let batches = [batch(2_000_000), batch(2_500_000), batch(10), batch(5_000_000)]
        #expect(try store.write(batches) == 2)
        let session = try Session(address)
        try session.run("ALTER TABLE journal RENAME TO journal_away")
        #expect(throws: StoreFailure.self) { try store.write(Array(batches[2...2])) }
        try session.run("ALTER TABLE journal_away RENAME TO journal")
        // The failed commit has one batch.
        #expect(try store.write(Array(batches[2...])) == 1)
        #expect(try store.write(Array(batches[3...])) == 1)
        store.close()
        try await server.remove()
    }

    @Test func `a commit that the database executes late, after it was repeated, writes nothing`() async throws {
        let (server, address) = try await Self.server()
        // Longer than a commit takes on a busy machine.
        let store = try PostgresStore.open(address, RealmNode(name: "home"), commitPatience: .seconds(2))
        try store.commit([.call(.live())])
        let session = try Session(address)
        let backend = try #require(try session.backend("reveille commits"))
        kill(backend, SIGSTOP)
        let call = CallRecord.live()
        let failure = #expect(throws: StoreFailure.self) { try store.write([[.call(call)]]) }
        #expect(failure?.reason == .unreachable)
        // Other records now: the attempt that may be under way is repeated as it was.
        try store.write([[.call(call)], [.call(.live())]])
        try store.write([[.call(.live())]])
        // The journal has the last commit only, so that no key keeps the late one out.
        try store.catchUp()
        kill(backend, SIGCONT)
        try await eventually("the late one has ended") {
            try session.number("SELECT count(*) FROM pg_stat_activity WHERE pid = \(backend)") == 0
        }
        #expect(try session.number("SELECT max(commit_no) FROM journal") == 3)
        #expect(try session.number("SELECT count(*) FROM journal") == 1)
        store.close()
        let next = try PostgresStore.open(address, name: "home")
        #expect(try next.recover().calls.count == 3)
        next.close()
        try await server.remove()
    }

    @Test func `commits that a home has left in the journal are applied by the next one, in order and once`()
        async throws
    {
        let address = try await PostgresServer.freshAddress()
        let store = try PostgresStore.open(address, name: "home")
        var call = CallRecord.live()
        let event = EventRecord(
            id: .random(), at: at(1), subject: .call(call, number: 1, .invited(custom: nil)))
        try store.write([[.call(call), .event(event)]])
        for state in [CallState.ringing, .answered] {
            call.state = state
            try store.write([
                [.call(call), .candidates(CandidateRecord(call: call.id, device: nil, candidates: [], isFinal: false))]
            ])
        }
        // As after a kill.
        store.keeper.stop(givesBack: false)
        let next = try await openApart(address, name: "home")
        let state = try next.recover()
        #expect(state.calls == [call] && state.candidates.count == 2)
        #expect(try Session(address).number("SELECT count(*) FROM event") == 1)
        #expect(try Session(address).number("SELECT count(*) FROM journal") == 1)
        let reader = PostgresReader(address)
        #expect(try reader.query { try $0.history(of: handle("alice"), after: nil, limit: 9) }.entries.count == 1)
        next.close()
    }

    @Test(.enabled(if: getuid() == 0, "only root may mount a small file system"))
    func `on a full disk commits wait, and go on when there is space again`() async throws {
        let disk = try await SmallDisk()
        let server = try await PostgresServer.start(
            in: disk.folder, settings: ["min_wal_size = 32MB", "max_wal_size = 32MB", "wal_recycle = off"])
        let address = server.address(realm: "reveille")
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let stream = Stream(committer)
        stream.goOn()
        await eventually("commits go on") { stream.acknowledged.count > 50 }
        try disk.fill()
        // Large ones, so that a file has to grow.
        let outcomes = Outcomes()
        let text = RawJSON(bytes: Array("\"\(String(repeating: "x", count: 30_000_000))\"".utf8))
        let call = CallRecord.live()
        #expect(
            outcomes.commit(
                "large", [.call(call), .descriptions(DescriptionsRecord(call: call.id, offer: text, custom: nil))],
                to: committer))
        await eventually("commits fail") { !committer.isHealthy }
        #expect(outcomes.all == [])
        try disk.free()
        // PostgreSQL ends when it cannot write its log.
        if !(try await server.isReady()) { try await server.restart() }
        await eventually("all are durable") { outcomes.all == ["large durable"] && committer.isHealthy }
        stream.end()
        await committer.flush()
        await committer.close()
        let reader = PostgresReader(address)
        let stored = Set(try reader.query { try $0.calls(CallFilter(limit: .max)) }.map(\.id))
        #expect(stored.isSuperset(of: stream.acknowledged) && stored.contains(call.id))
        reader.close()
        try await server.remove()
        try await disk.remove()
    }

    @Test func `without a connection left commits wait, and then go on`() async throws {
        let (server, address) = try await Self.server(["max_connections = 12", "superuser_reserved_connections = 0"])
        let committer = try PostgresCommitter(store: try PostgresStore.open(address, name: "home"))
        let outcomes = Outcomes()
        #expect(outcomes.commit("first", [.call(.live())], to: committer))
        await committer.flush()
        let session = try Session(address)
        var others: [Session] = []
        while let one = try? Session(address) { others.append(one) }
        let taken = others.count
        try session.terminate("reveille commits")
        await eventually("the connection that is free is taken") {
            if let one = try? Session(address) { others.append(one) }
            return others.count > taken
        }
        #expect(outcomes.commit("second", [.call(.live())], to: committer))
        await eventually("the log says so") { committer.failure?.reason == .tooManyConnections }
        #expect(outcomes.all == ["first durable"])
        others = []
        await eventually("it goes on") { outcomes.all == ["first durable", "second durable"] }
        await committer.close()
        try await server.remove()
    }
}
