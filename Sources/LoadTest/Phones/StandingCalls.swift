import CallVocabulary
import Determinism
import SoftphoneKit
import SoftphoneSession

/// Calls that stand during the whole load, between pairs of phones of a pool. On the pool's loop.
final class StandingCalls {
    /// How many are set up at a time.
    private static let concurrency = 64

    private let pool: PhonePool
    /// How many calls two phones have with one another.
    private let perPair: Int
    private var ids = SeededGenerator(seed: .random(in: .min ... .max))
    private var choices: SeededGenerator
    private(set) var calls: [LoadCall] = []
    /// By phone: the place of its first call in ``calls``; the others of the pair follow.
    private(set) var placeOfPhone: [Int?] = []
    private var wanted = 0
    /// The calls that are connected or have failed.
    private var settled: Set<CallID> = []
    private var firstFailure: String?
    private var completion: ((Result<Void, any Error>) -> Void)?

    /// - Parameter perPair: more than one where the callees have call waiting.
    init(pool: PhonePool, perPair: Int = 1) {
        self.pool = pool
        self.perPair = perPair
        choices = pool.environment.generator(.phones)
    }

    /// Sets `count` calls up, among the pool's free phones. Fails if one cannot be connected.
    func setUp(count: Int, completion: @escaping (Result<Void, any Error>) -> Void) {
        wanted = count
        self.completion = completion
        placeOfPhone = Array(repeating: nil, count: pool.phones.count)
        pool.environment.counters.expect(count)
        guard count > 0 else { return isSetUp() }
        for _ in 0..<min(count, Self.concurrency) { placeNext() }
    }

    private func placeNext() {
        guard calls.count < wanted, let (caller, callee) = nextPair() else { return }
        let call = LoadCall(
            id: CallID(random: &ids), caller: (caller, pool.phones[caller]), callee: (callee, [pool.phones[callee]]),
            environment: pool.environment
        ) { [unowned self] in happened($1, to: $0.id) }
        calls.append(call)
        call.invite(.user(pool.user(callee)))
    }

    /// Of the call that is placed next.
    private func nextPair() -> (caller: Int, callee: Int)? {
        if calls.count % perPair > 0, let last = calls.last { return (last.caller, last.callee) }
        guard let caller = pool.take(&choices), let callee = pool.take(&choices) else { return nil }
        placeOfPhone[caller] = calls.count
        placeOfPhone[callee] = calls.count
        return (caller, callee)
    }

    /// What a phone told.
    func happened(_ event: SoftphoneEvent, to phone: Int) {
        guard let first = placeOfPhone[phone] else { return }
        // By place: the next call may be placed meanwhile.
        for place in first..<min(first + perPair, calls.count) {
            let call = calls[place]
            if phone == call.caller { call.callerHappened(event) } else { call.deviceHappened(event) }
        }
    }

    private func happened(_ happening: LoadCall.Happening, to call: CallID) {
        switch happening {
        case .connected: break
        case .ended: fault("ended")
        case .failed(let reason): fault(reason)
        }
        guard completion != nil, settled.insert(call).inserted else { return }
        pool.environment.counters.settle()
        guard settled.count == wanted else { return placeNext() }
        isSetUp()
    }

    private func isSetUp() {
        let completion = self.completion
        self.completion = nil
        completion?(
            firstFailure.map { .failure(LoadError("the calls could not be set up, the first because: \($0)")) }
                ?? .success(()))
    }

    private func fault(_ reason: String) {
        guard completion == nil else { return firstFailure = firstFailure ?? reason }
        pool.environment.recorder.fault("a standing call: \(reason)")
    }

    func removeAll() {
        completion = nil
        calls = []
        placeOfPhone = []
    }
}

@available(*, unavailable)
extension StandingCalls: Sendable {}
