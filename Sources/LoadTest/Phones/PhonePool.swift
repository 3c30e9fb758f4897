import CallVocabulary
import EventLoop
import SoftphoneKit
import SoftphoneSession

/// The phones of one thread that are online all the time, each a user of its own. On that thread's loop.
///
/// Phones are taken at random among the free ones, so that the load spreads over all sessions.
final class PhonePool {
    /// How many sessions a thread opens at a time.
    static let openingConcurrency = 64

    private struct Opening {
        var next = 0
        var settled = 0
        var startedAt: [ContinuousClock.Instant?]
        var firstFailure: String?
        let concurrency: Int
        let completion: (Result<Void, any Error>) -> Void
    }

    let environment: WorkloadEnvironment
    private let identity: (Int) -> PhoneIdentity
    private(set) var phones: [Softphone] = []
    private var isConnected: [Bool] = []
    private var losses = SessionLosses(count: 0)
    /// What the phones tell once their sessions are open, with the index of the phone.
    var onEvent: (Int, SoftphoneEvent) -> Void = { _, _ in }

    private var opening: Opening?
    private var free = FreeNumbers()
    private var isClosed = false

    /// Each phone is a user of its own, whose numbers start at `firstUser`.
    convenience init(environment: WorkloadEnvironment, firstUser: Int = 0) {
        self.init(environment: environment) { environment.identity(ofUser: firstUser + $0) }
    }

    init(environment: WorkloadEnvironment, identity: @escaping (Int) -> PhoneIdentity) {
        self.environment = environment
        self.identity = identity
    }

    func user(_ index: Int) -> Handle { identity(index).user }

    // MARK: Opening

    /// Makes `count` phones, with tokens; none is online yet.
    func make(count: Int, completion: @escaping (Result<Void, any Error>) -> Void) {
        environment.tokens.mint((0..<count).map(user), on: environment.loop) { [self] tokens in
            guard !isClosed else { return }
            completion(Result { try make(tokens: tokens.get()) })
        }
    }

    /// Makes `count` phones and opens their sessions. Fails if one does not open; there is no retry.
    func open(count: Int, completion: @escaping (Result<Void, any Error>) -> Void) {
        environment.counters.expect(count)
        make(count: count) { [self] made in
            guard case .success = made else { return completion(made) }
            begin(
                Opening(
                    startedAt: Array(repeating: nil, count: count), concurrency: Self.openingConcurrency,
                    completion: completion))
        }
    }

    private func make(tokens: [String]) throws {
        let me = LoopBound(self, on: environment.loop)
        isConnected = Array(repeating: false, count: tokens.count)
        losses = SessionLosses(count: tokens.count)
        phones.reserveCapacity(tokens.count)
        for (index, token) in tokens.enumerated() {
            let configuration = environment.phone(identity(index), .cli, token: token, seed: UInt64(index))
            phones.append(
                try Softphone(configuration: configuration, runtime: environment.runtime) { _, event in
                    me.value.happened(event, to: index)
                })
        }
    }

    private func begin(_ opening: Opening) {
        self.opening = opening
        guard !phones.isEmpty else { return finishOpening() }
        for _ in 0..<min(opening.concurrency, phones.count) { openNext() }
    }

    private func openNext() {
        guard let index = opening?.next, index < phones.count else { return }
        opening?.next += 1
        opening?.startedAt[index] = .now
        phones[index].start()
    }

    private func happened(_ event: SoftphoneEvent, to index: Int) {
        if case .connection(let change) = event { note(change, of: index) }
        guard opening?.startedAt[index] != nil else { return onEvent(index, event) }
        guard case .connection(let change) = event else { return }
        opening?.startedAt[index] = nil
        switch change {
        case .up, .resumed:
            free.add(index)
            environment.counters.sessionOpened()
        case .down(_, let reason, _): failed(index, reason)
        case .gone(let reason): failed(index, "\(reason)")
        case .offline: failed(index, "went offline")
        }
        opening?.settled += 1
        environment.counters.settle()
        guard opening?.settled == phones.count else { return openNext() }
        finishOpening()
    }

    private func note(_ change: ConnectionChange, of index: Int) {
        let isNow =
            switch change {
            case .up, .resumed: true
            case .down, .gone, .offline: false
            }
        guard isConnected.indices.contains(index), isConnected[index] != isNow else { return }
        isConnected[index] = isNow
        if isNow { losses.isBack(index) }
        if isNow { environment.counters.connected() } else { environment.counters.disconnected() }
    }

    /// Counts `event` if it is an unintended loss of a session.
    func noteLoss(_ event: SoftphoneEvent, of index: Int) {
        if let reason = losses.reason(event, of: index) { environment.recorder.sessionLost(reason) }
    }

    private func failed(_ index: Int, _ reason: String) {
        phones[index].abandon()
        if opening?.firstFailure == nil { opening?.firstFailure = reason }
    }

    private func finishOpening() {
        guard let opening else { return }
        self.opening = nil
        if free.count == phones.count { return opening.completion(.success(())) }
        opening.completion(
            .failure(
                LoadError(
                    "\(phones.count - free.count) of \(phones.count) sessions could not be opened, the first because: "
                        + (opening.firstFailure.map(environment.advice.with) ?? "no reason"))))
    }

    // MARK: Free phones

    var freeCount: Int { free.count }

    /// Takes one of the free phones; nil when there is none.
    func take(_ generator: inout some RandomNumberGenerator) -> Int? { free.take(&generator) }

    /// Gives a phone back that was taken.
    func release(_ index: Int) { free.add(index) }

    /// Drops every connection. No event follows.
    func close() {
        isClosed = true
        opening = nil
        onEvent = { _, _ in }
        for phone in phones { phone.abandon() }
        phones = []
        free = FreeNumbers()
    }
}

@available(*, unavailable)
extension PhonePool: Sendable {}
