import CallCore
import CallStore
import CallVocabulary
import Synchronization

/// Has each step of the calls of ``CallSockets`` durable before frames follow from it, and decides nothing: each request
/// gives the records that say what it changed, of the call and of the callee's device; as in the server, one for each that
/// changes several times before a commit, so that a call has 7 to 10. Confined to the server's thread, but for what the
/// store hands back.
final class StepStore {
    /// What the store hands back.
    private final class Durable: Sendable {
        struct State {
            /// To whom frames follow.
            var order: [Int] = []
            var batches = 0
            var failure: StoreFailure?
        }

        let state = Mutex(State())
        let wakeUp: BytePipe

        init() throws(BenchmarkError) { wakeUp = try BytePipe() }

        func add(_ order: [Int], _ result: Result<Void, StoreFailure>) {
            let isFirst = state.withLock { state in
                state.order += order
                state.batches += 1
                if case .failure(let failure) = result { state.failure = failure }
                return state.batches == 1
            }
            if isFirst { wakeUp.put() }
        }
    }

    private struct Call {
        var call: CallRecord
        var leg: LegRecord
        /// Where in ``records`` they stand, before the next commit.
        var places: (call: Int?, leg: Int?) = (nil, nil)
        /// The commit that these places are of.
        var commit: UInt64 = 0
    }

    private static let now = Instant(milliseconds: 1_800_000_000_000)

    private let committer: GroupCommitter
    private let durable: Durable
    private var calls: [Call?]
    private var records: [StoreRecord] = []
    /// Counts commits, from 1.
    private var commitNumber: UInt64 = 1
    private var underWay = 0

    /// - Parameter pairs: callers have even numbers, and call those with the number after theirs.
    init(folder: String, pairs: Int) throws {
        durable = try Durable()
        calls = Array(repeating: nil, count: pairs)
        committer = try GroupCommitter(store: try CallStore.open(folder: folder))
    }

    /// Can be read when something is durable.
    var descriptor: Int32 { durable.wakeUp.descriptor }
    /// Whether the store has something that is not durable yet.
    var isBusy: Bool { underWay > 0 }
    var commits: UInt64 { committer.statistics.commits }
    var recordsStored: UInt64 { committer.statistics.records }

    /// Waits until all is in the tables.
    func flush() async { await committer.flush() }

    func close() async { await committer.close() }

    /// Notes what a phone's request changes.
    /// - Parameter request: of this phone in its call, counted from 1.
    func note(_ phone: Int, _ request: Int) {
        let pair = phone / 2
        if phone.isMultiple(of: 2), request == 1 { calls[pair] = invite(pair) }
        guard var call = calls[pair] else { return }
        switch (phone.isMultiple(of: 2), request) {
        case (true, 1): break
        case (true, 2): call.call.callerConnectedAt = Self.now
        case (true, _):
            (call.call.state, call.call.endedAt) = (.ended, Self.now)
            (call.call.endReason, call.call.endedBy) = (.hangup, call.call.caller)
            (call.leg.state, call.leg.endedAt, call.leg.endReason) = (.ended, Self.now, .hangup)
        case (false, 1):
            (call.call.state, call.call.ringingAt) = (.ringing, Self.now)
            (call.leg.state, call.leg.ringingAt) = (.ringing, Self.now)
        case (false, 2):
            (call.call.state, call.call.answeredAt) = (.answered, Self.now)
            call.call.answeredBy = Party(user: call.leg.device.user, device: call.leg.device.device)
            call.call.connectsUntil = Self.now + .seconds(30)
            (call.leg.state, call.leg.answeredAt) = (.answered, Self.now)
        case (false, _): call.call.calleeConnectedAt = Self.now
        }
        if call.call.callerConnectedAt != nil, call.call.calleeConnectedAt != nil, call.call.state == .answered {
            (call.call.state, call.call.connectedAt) = (.connected, Self.now)
        }
        let isOfCallAlone = request == 2 && phone.isMultiple(of: 2) || request == 3 && !phone.isMultiple(of: 2)
        if call.commit != commitNumber { (call.places, call.commit) = ((nil, nil), commitNumber) }
        keep(.call(call.call), at: &call.places.call)
        if !isOfCallAlone { keep(.leg(call.leg), at: &call.places.leg) }
        calls[pair] = call
    }

    private func keep(_ record: StoreRecord, at place: inout Int?) {
        if let place { return records[place] = record }
        place = records.count
        records.append(record)
    }

    /// Commits what was noted, all at once.
    /// - Parameter order: to whom frames follow from it.
    func commit(_ order: [Int]) throws(BenchmarkError) {
        guard !records.isEmpty else { return }
        let isTaken = committer.commit(batch: records) { [durable] in durable.add(order, $0) }
        guard isTaken else { throw BenchmarkError("the store takes no more") }
        records.removeAll(keepingCapacity: true)
        commitNumber += 1
        underWay += 1
    }

    /// Takes what is durable, after ``descriptor`` could be read.
    /// - Returns: to whom frames follow from it.
    func takeDurable() throws -> [Int] {
        guard durable.wakeUp.take() else { throw BenchmarkError("the store is gone") }
        let state = durable.state.withLock { state in
            defer { state = Durable.State() }
            return state
        }
        if let failure = state.failure { throw failure }
        underWay -= state.batches
        return state.order
    }

    private func invite(_ pair: Int) -> Call {
        // All are handles.
        let (caller, callee) = (Handle("caller-\(pair)")!, Handle("callee-\(pair)")!)
        let id = CallID.random()
        let device = DeviceKey(user: callee, device: DeviceID(high: 2, low: UInt64(pair)))
        return Call(
            call: CallRecord(
                id: id, caller: Party(user: caller, device: DeviceID(high: 1, low: UInt64(pair))), callerName: nil,
                to: .user(callee), video: false, inviteDigest: UInt64(pair), state: .routing, createdAt: Self.now,
                ringsUntil: Self.now + .seconds(45)),
            leg: LegRecord(call: id, device: device, push: .random(), state: .offered, createdAt: Self.now))
    }
}

@available(*, unavailable)
extension StepStore: Sendable {}
