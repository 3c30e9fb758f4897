import CallCore
import CallVocabulary
import Foundation
import GRDB
import StoreInterface
import Testing

@testable import CallStore

/// A folder of its own for a test, removed with the value.
final class TemporaryFolder: Sendable {
    let parent: String
    /// Not there yet.
    let path: String

    init() throws {
        parent = NSTemporaryDirectory() + "call-store-\(UUID().uuidString)"
        path = parent + "/data"
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: false)
    }

    /// What a process that is killed at this moment leaves in `folder`.
    convenience init(copying folder: TemporaryFolder) throws {
        try self.init()
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        try folder.copyStore(to: path)
    }

    /// Copies what a process that is killed at this moment leaves to another folder.
    func copyStore(to path: String) throws {
        // Not the shared memory: the next process makes it anew from the log.
        let target = StoreFolder.database(in: path)
        let pairs = zip(
            StoreFolder.files(of: database) + [StoreFolder.mark(of: database)],
            StoreFolder.files(of: target) + [StoreFolder.mark(of: target)])
        for (from, to) in pairs
        where FileManager.default.fileExists(atPath: from) && !from.hasSuffix("-shm") {
            try FileManager.default.copyItem(atPath: from, toPath: to)
        }
    }

    /// What is in it, by name.
    var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path).sorted()) ?? [] }

    var database: String { StoreFolder.database(in: path) }

    deinit { try? FileManager.default.removeItem(atPath: parent) }
}

/// The disk of a store that is open, which can be full for it.
struct StoreDisk: Sendable {
    private let queues: [DatabaseQueue]

    /// - Parameter hasJournal: whether it is also full for the journal.
    init(of store: CallStore, hasJournal: Bool = true) {
        queues = [store.tables.queue] + (hasJournal ? [store.journal].compactMap { $0?.queue } : [])
    }

    /// - Parameter pages: how many more there are yet.
    func fill(but pages: Int64 = 0) throws {
        for queue in queues {
            try queue.inDatabase { database in
                let used = try Int64.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                try database.execute(sql: "PRAGMA max_page_count = \(used + pages)")
            }
        }
    }

    func free() throws {
        for queue in queues { try queue.inDatabase { try $0.execute(sql: "PRAGMA max_page_count = 1000000") } }
    }
}

/// The mark of an open store. The test can make its writes fail as on a full disk.
struct MarkFile: Sendable {
    private let descriptor: Int32
    private let file: Int32

    init(of store: CallStore) throws {
        descriptor = try #require(store.mark?.descriptor)
        file = dup(descriptor)
        #expect(file >= 0)
    }

    func fill() {
        let full = open("/dev/full", O_WRONLY | O_CLOEXEC)
        #expect(dup2(full, descriptor) == descriptor)
        close(full)
    }

    func free() {
        #expect(dup2(file, descriptor) == descriptor)
        close(file)
    }
}

func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: 1_790_000_000_000 + milliseconds) }

func handle(_ text: String) -> Handle {
    // Tests name handles that are valid.
    Handle(text)!
}

/// Waits until `condition` holds; records an issue when it does not in forty seconds.
func eventually(_ what: Comment, _ condition: () -> Bool) async {
    let deadline = ContinuousClock.now + .seconds(40)
    while !condition() {
        guard ContinuousClock.now < deadline else {
            Issue.record(what)
            return
        }
        // What is waited for needs the processors too.
        try? await Task.sleep(for: .milliseconds(1))
    }
}

extension PushToken {
    static func sample(_ token: String = "a1b2c3", kind: PushKind = .voip) -> PushToken {
        PushToken(provider: .apns, kind: kind, environment: .sandbox, topic: "org.example.phone.voip", token: token)
    }
}

extension DeviceRecord {
    /// Every field is set.
    static func full(user: String = "bob", device: DeviceID = .random()) -> DeviceRecord {
        DeviceRecord(
            key: DeviceKey(user: handle(user), device: device), platform: .ios, app: "org.example.phone 4.2",
            name: "Bob’s “phone” 📱",
            tokens: [
                Token(token: .sample("first"), registeredAt: at(1)),
                Token(
                    token: PushToken(
                        provider: .fcm, kind: .data, environment: .production, topic: "project", token: "second"),
                    registeredAt: at(2)),
            ],
            seenAt: at(3), unreportedStreak: 2, suspendedAt: at(4), probes: 3, nextProbeAt: at(5))
    }
}

extension CallRecord {
    static func live(
        _ id: CallID = .random(), from caller: String = "alice", to target: CallTarget = .user(handle("bob")),
        createdAt: Instant = at(10)
    ) -> CallRecord {
        CallRecord(
            id: id, caller: Party(user: handle(caller), device: .random()), callerName: nil, to: target, video: false,
            inviteDigest: 1, state: .routing, createdAt: createdAt, ringsUntil: createdAt + .seconds(45))
    }

    static func ended(
        _ id: CallID = .random(), from caller: String = "alice", to target: CallTarget = .user(handle("bob")),
        createdAt: Instant = at(10), reason: EndReason = .hangup
    ) -> CallRecord {
        var record = live(id, from: caller, to: target, createdAt: createdAt)
        record.state = .ended
        record.endedAt = createdAt + .seconds(60)
        record.endReason = reason
        return record
    }

    /// Every field is set.
    static func full(state: CallState = .connected) -> CallRecord {
        var record = live(to: .users([handle("bob"), handle("+81312345678"), handle("q\"uo\\te")]))
        record.callerName = "Alice “A” \\ Example"
        record.video = true
        record.inviteDigest = .max
        record.state = state
        record.ringingAt = at(20)
        record.answeredAt = at(21)
        record.answeredBy = Party(user: handle("bob"), device: .random())
        record.connectsUntil = at(22)
        record.callerConnectedAt = at(23)
        record.calleeConnectedAt = at(24)
        record.connectedAt = at(25)
        record.endedAt = at(26)
        record.endReason = .answeredElsewhere
        record.endedBy = Party(user: handle("carol"))
        record.mergedInto = .random()
        record.members = [handle("bob"), handle("q\"uo\\te"), handle("é📞")]
        record.hunt = HuntProgress(rung: 2, nextAt: at(27))
        record.lostAt = at(28)
        record.huntSteps = [nil, .milliseconds(5000), .milliseconds(0)]
        record.forwards = [
            CallRecord.Forward(reason: .busy, to: .user(handle("q\"uo\\te")), at: at(29), firstMember: 1),
            CallRecord.Forward(reason: .ringTimeout, to: .group("é"), at: at(30), firstMember: 2),
        ]
        record.ringTime = .milliseconds(12_345)
        record.maxDuration = .milliseconds(54_321)
        return record
    }
}

extension LegRecord {
    static func sample(of call: CallRecord, user: String = "bob", device: DeviceID = .random()) -> LegRecord {
        LegRecord(
            call: call.id, device: DeviceKey(user: handle(user), device: device), push: .random(), state: .waking,
            createdAt: call.createdAt)
    }

    /// Every field is set.
    static func full(of call: CallRecord) -> LegRecord {
        var record = sample(of: call)
        record.state = .ringing
        record.offeredAt = at(31)
        record.wokenAt = at(32)
        record.ringingAt = at(33)
        record.answeredAt = at(34)
        record.endedAt = at(35)
        record.endReason = .declinedElsewhere
        return record
    }
}

extension PushRecord {
    static func sample(
        of leg: LegRecord, purpose: PushPurpose = .call, status: ProviderStatus = .intended,
        report: ReportStatus? = nil, intendedAt: Instant = at(40)
    ) -> PushRecord {
        var record = PushRecord(
            id: purpose == .call ? leg.push : .random(), purpose: purpose, call: leg.call, device: leg.device,
            token: .sample(), intendedAt: intendedAt,
            expiresAt: intendedAt + .seconds(45))
        record.status = status
        record.report = report
        let wasSent = status == .sent || status == .accepted || status == .rejected || status == .unknown
        record.sentAt = wasSent ? intendedAt + .milliseconds(5) : nil
        return record
    }

    /// Every field is set.
    static func full(of leg: LegRecord) -> PushRecord {
        var record = sample(of: leg, status: .accepted, report: .awaited)
        record.reason = "TooManyRequests"
        record.reportError = "com.apple.CallKit 2"
        record.answeredAt = at(51)
        record.reportedAt = at(52)
        record.reportDueAt = at(53)
        return record
    }
}

extension CandidateRecord {
    static func sample(
        _ texts: [String], of call: CallRecord, from device: DeviceKey? = nil, isFinal: Bool = false
    ) -> CandidateRecord {
        CandidateRecord(
            call: call.id, device: device, candidates: texts.map { RawJSON(bytes: Array($0.utf8)) }, isFinal: isFinal)
    }
}

extension AbsenceRecord {
    static func sample(of call: CallRecord, _ role: CallRole = .caller, lostAt: Instant = at(61)) -> AbsenceRecord {
        AbsenceRecord(call: call.id, role: role, lostAt: lostAt, returnedAt: nil)
    }
}

extension UserRecord {
    /// Every part of the policy differs from the standard.
    static func full(_ user: String = "bob") -> UserRecord {
        // `handle` is a property here.
        var record = UserRecord(handle: CallStoreTests.handle(user), policy: UserPolicy())
        record.policy.callWaiting = false
        record.policy.decline = .device
        record.policy.doNotDisturb = true
        record.policy.missedCalls = .background
        return record
    }
}

/// A fresh store with `records` in it, and a reader beside it.
func withStore(
    _ records: [StoreRecord] = [], _ body: (CallStore, StoreReader, TemporaryFolder) throws -> Void
) throws {
    let folder = try TemporaryFolder()
    let store = try CallStore.open(folder: folder.path)
    try store.commit(records)
    try body(store, try StoreReader.open(folder: folder.path), folder)
    store.close()
}

/// Runs `body` and gives what it threw.
func failure(_ body: () throws(StoreFailure) -> some Any) -> StoreFailure? {
    do {
        _ = try body()
        return nil
    } catch {
        return error
    }
}
