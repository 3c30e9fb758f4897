import CallVocabulary
import DequeModule
import EventLoop
import PushCore

/// Maps APNs tokens to FCM tokens, with a cache. Confined to the push loop.
final class FCMTokenMapper {
    /// An app in one environment, as devices name it.
    private struct App: Hashable {
        let name: String
        let isSandbox: Bool
    }

    /// The cache key of an APNs token.
    private struct Address: Hashable {
        @Secret private(set) var token: String
        let app: App

        init(_ token: PushToken) {
            self.token = token.token
            app = App(name: token.topic, isSandbox: token.environment == .sandbox)
        }
    }

    /// The most cached mappings; the oldest is evicted.
    private static let capacity = 50_000
    /// After a failed request, pushes to its app go to APNs directly for this long. Other apps go on: a device may have
    /// made up the app.
    private static let pause = Duration.seconds(30)
    /// The most apps remembered whose tokens FCM has mapped.
    private static let mostProven = 256
    /// The most tokens that wait for a mapping.
    private static let longestQueue = 10_000

    private let registrar: FCMRegistrar
    private let now: @Sendable () -> Instant
    private let onFailure: (String) -> Void
    private var known: [Address: (token: String, number: UInt64)] = [:]
    /// The mappings, the oldest first. Those that are not in ``known`` with this number were forgotten since.
    private var order = Deque<(address: Address, number: UInt64)>()
    private var mappings: UInt64 = 0
    private var waiting: [Address: [(String?) -> Void]] = [:]
    private var line = Deque<Address>()
    private var isAsking = false
    private var isClosed = false
    /// The ends of the pauses, some of them past.
    private var pauses: [App: Instant] = [:]
    private var proven: Set<App> = []

    /// - Parameter onFailure: called with the reason of a failed mapping, for the log.
    init(registrar: FCMRegistrar, now: @escaping @Sendable () -> Instant, onFailure: @escaping (String) -> Void) {
        self.registrar = registrar
        self.now = now
        self.onFailure = onFailure
    }

    /// - Parameter completion: called with the FCM token, at once if it is cached; nil when none is available now.
    func map(_ token: PushToken, completion: @escaping (String?) -> Void) {
        let address = Address(token)
        if let mapped = known[address]?.token { return completion(mapped) }
        let isPaused = pauses[address.app].map { now() < $0 } ?? false
        guard !isClosed, !isPaused, waiting.count < Self.longestQueue || waiting[address] != nil else {
            return completion(nil)
        }
        if waiting[address] == nil { line.append(address) }
        waiting[address, default: []].append(completion)
        ask()
    }

    /// Removes a mapping that FCM no longer accepts.
    func forget(_ token: PushToken) {
        known[Address(token)] = nil
    }

    /// Completes waiting requests without a token.
    func close() {
        isClosed = true
        registrar.close()
        resume(line)
        line.removeAll()
    }

    /// Sends one request at a time, for all waiting tokens of one app. Apps whose tokens FCM has mapped come first: devices
    /// can make up any number of others.
    private func ask() {
        guard !isAsking, !isClosed, let first = line.first(where: { proven.contains($0.app) }) ?? line.first
        else { return }
        var batch: [Address] = []
        var rest = Deque<Address>()
        while let next = line.popFirst() {
            let fits = next.app == first.app && batch.count < FCMRegistration.longestImport
            if fits { batch.append(next) } else { rest.append(next) }
        }
        line = rest
        do {
            let registration = try FCMRegistration(
                importing: batch.map(\.token), application: first.app.name, isSandbox: first.app.isSandbox)
            isAsking = true
            registrar.perform(registration, count: batch.count) { [weak self] in
                self?.answered(batch, of: first.app, $0)
            }
        } catch {
            fail(batch, of: first.app, error.rawValue)
            ask()
        }
    }

    private func answered(_ batch: [Address], of app: App, _ answer: FCMRegistrationAnswer) {
        isAsking = false
        switch answer {
        case .refused(let words): fail(batch, of: app, words)
        case .outcomes(let outcomes):
            for (address, outcome) in zip(batch, outcomes) {
                switch outcome {
                case .done(let mapped?):
                    if proven.count < Self.mostProven { proven.insert(app) }
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

    private func fail(_ batch: [Address], of app: App, _ words: String) {
        let time = now()
        // As many are left as requests can fail in a pause.
        pauses = pauses.filter { time < $0.value }
        pauses[app] = time + Self.pause
        onFailure(words)
        let rest = line.filter { $0.app == app }
        line.removeAll { $0.app == app }
        resume(batch)
        resume(rest)
    }

    private func resume(_ addresses: some Sequence<Address>) {
        for address in addresses { resume(address, nil) }
    }

    private func resume(_ address: Address, _ mapped: String?) {
        for completion in waiting.removeValue(forKey: address) ?? [] { completion(mapped) }
    }

    private func remember(_ mapped: String, for address: Address) {
        let number = known[address]?.number ?? mappings
        if number == mappings {
            mappings += 1
            order.append((address, number))
        }
        known[address] = (mapped, number)
        while order.count > Self.capacity {
            let oldest = order.removeFirst()
            if known[oldest.address]?.number == oldest.number { known[oldest.address] = nil }
        }
    }
}

@available(*, unavailable)
extension FCMTokenMapper: Sendable {}
