import CallVocabulary
import DequeModule
import EventLoop
import PushCore

/// Maps APNs tokens to FCM tokens, with a cache. Confined to the push loop.
final class FCMTokenMapper {
    /// The cache key of an APNs token.
    private struct Address: Hashable {
        @Secret private(set) var token: String
        let application: String
        let isSandbox: Bool

        init(_ token: PushToken) {
            self.token = token.token
            application = token.topic
            isSandbox = token.environment == .sandbox
        }
    }

    /// The most cached mappings; the oldest is evicted.
    private static let capacity = 50_000
    /// After a failed request, pushes go to APNs directly for this long.
    private static let pause = Duration.seconds(30)
    /// The most tokens that wait for a mapping.
    private static let longestQueue = 10_000

    private let registrar: FCMRegistrar
    private let now: @Sendable () -> Instant
    private let onFailure: (String) -> Void
    private var known: [Address: String] = [:]
    private var order = Deque<Address>()
    private var waiting: [Address: [(String?) -> Void]] = [:]
    private var line = Deque<Address>()
    private var isAsking = false
    private var pausedUntil = Instant(milliseconds: .min)

    /// - Parameter onFailure: called with the reason of a failed mapping, for the log.
    init(registrar: FCMRegistrar, now: @escaping @Sendable () -> Instant, onFailure: @escaping (String) -> Void) {
        self.registrar = registrar
        self.now = now
        self.onFailure = onFailure
    }

    /// - Parameter completion: called with the FCM token, at once if it is cached; nil when none is available now.
    func map(_ token: PushToken, completion: @escaping (String?) -> Void) {
        let address = Address(token)
        if let mapped = known[address] { return completion(mapped) }
        guard now() >= pausedUntil, waiting.count < Self.longestQueue || waiting[address] != nil else {
            return completion(nil)
        }
        if waiting[address] == nil { line.append(address) }
        waiting[address, default: []].append(completion)
        ask()
    }

    /// Removes a mapping that FCM no longer accepts.
    func forget(_ token: PushToken) {
        let address = Address(token)
        guard known.removeValue(forKey: address) != nil else { return }
        order.removeAll { $0 == address }
    }

    /// Completes waiting requests without a token.
    func close() {
        pausedUntil = Instant(milliseconds: .max)
        registrar.close()
    }

    /// Sends one request at a time, for all waiting tokens of one app.
    private func ask() {
        guard !isAsking, let first = line.first else { return }
        var batch: [Address] = []
        var rest = Deque<Address>()
        while let next = line.popFirst() {
            let fits = next.application == first.application && next.isSandbox == first.isSandbox
            if fits, batch.count < FCMRegistration.longestImport { batch.append(next) } else { rest.append(next) }
        }
        line = rest
        do {
            let registration = try FCMRegistration(
                importing: batch.map(\.token), application: first.application, isSandbox: first.isSandbox)
            isAsking = true
            registrar.perform(registration, count: batch.count) { [weak self] in self?.answered(batch, $0) }
        } catch {
            fail(batch, error.rawValue)
        }
    }

    private func answered(_ batch: [Address], _ answer: FCMRegistrationAnswer) {
        isAsking = false
        switch answer {
        case .refused(let words): fail(batch, words)
        case .outcomes(let outcomes):
            for (address, outcome) in zip(batch, outcomes) {
                switch outcome {
                case .done(let mapped?):
                    remember(mapped, for: address)
                    resume(address, mapped)
                case .done(nil): resume(address, nil)
                case .failed(let words):
                    onFailure(words)
                    resume(address, nil)
                }
            }
        }
        ask()
    }

    private func fail(_ batch: [Address], _ words: String) {
        pausedUntil = max(pausedUntil, now() + Self.pause)
        onFailure(words)
        for address in batch + line { resume(address, nil) }
        line.removeAll()
    }

    private func resume(_ address: Address, _ mapped: String?) {
        for completion in waiting.removeValue(forKey: address) ?? [] { completion(mapped) }
    }

    private func remember(_ mapped: String, for address: Address) {
        if known.updateValue(mapped, forKey: address) == nil { order.append(address) }
        while order.count > Self.capacity { known[order.removeFirst()] = nil }
    }
}

@available(*, unavailable)
extension FCMTokenMapper: Sendable {}
