import CallServer
import CallVocabulary
import EventLoop
import SoftphoneKit

/// The phones of a load test, all on one thread, each a user of its own. On that thread, unless said otherwise.
final class Fleet {
    /// How the opening of the sessions went.
    struct Opening {
        var latencies = Latencies()
        var failures: [String: Int] = [:]
        var elapsed = Duration.zero
    }

    private struct OpeningInProgress {
        var result = Opening()
        var next: Int
        var startedAt: [ContinuousClock.Instant?]
        var isOpen = 0
        let began: ContinuousClock.Instant
        let progress: LoadProgress
        let completion: (Opening) -> Void
    }

    /// How many openings lie between two words about the progress.
    private static let progressStep = 100

    let loop: EventLoop
    private(set) var phones: [Softphone] = []
    /// What the phones tell once their sessions are open, with the index of the phone.
    var onEvent: (Int, SoftphoneEvent) -> Void = { _, _ in }
    private var opening: OpeningInProgress?

    private init(loop: EventLoop) { self.loop = loop }

    /// Phones for the users 0 to `size`, with tokens; none is online yet. Any thread.
    static func make(size: Int, server: ServerProcess, runtime: SoftphoneRuntime) async throws -> LoopBound<Fleet> {
        let fleet = LoopBound(Fleet(loop: runtime.loop), on: runtime.loop)
        // Made by the server at its start, in its folder.
        let tokens = try await TokenAuthority(folder: DataFolder(path: server.folder))
        var phones: [Softphone] = []
        phones.reserveCapacity(size)
        for index in 0..<size {
            let token = try await tokens.mint(user: user(index), lifetime: .seconds(86_400))
            var configuration = Softphone.Configuration(
                url: server.url, token: token, device: DeviceDescription(id: .random(), platform: .cli))
            configuration.session.probesSilence = false
            configuration.seed = UInt64(index)
            phones.append(
                try Softphone(configuration: configuration, runtime: runtime) { _, event in
                    fleet.value.happened(event, to: index)
                })
        }
        let made = phones
        await runtime.loop.run { fleet.value.phones = made }
        return fleet
    }

    static func user(_ index: Int) -> Handle {
        // Within what a handle may be.
        Handle("load-\(index)")!
    }

    /// Opens every phone's session, at most `concurrency` at a time; one that fails is not tried again.
    /// Any thread.
    static func open(_ fleet: LoopBound<Fleet>, concurrency: Int, progress: @escaping LoadProgress) async throws
        -> Opening
    {
        try await fleet.loop.result { done in
            fleet.value.open(concurrency: concurrency, progress: progress) { done(.success($0)) }
        }
    }

    private func open(concurrency: Int, progress: @escaping LoadProgress, completion: @escaping (Opening) -> Void) {
        opening = OpeningInProgress(
            next: 0, startedAt: Array(repeating: nil, count: phones.count), began: .now, progress: progress,
            completion: completion)
        for _ in 0..<min(concurrency, phones.count) { openNext() }
    }

    private func openNext() {
        guard let index = opening?.next, index < phones.count else { return }
        opening?.next += 1
        opening?.startedAt[index] = .now
        phones[index].start()
    }

    private func happened(_ event: SoftphoneEvent, to index: Int) {
        guard let startedAt = opening?.startedAt[index] else { return onEvent(index, event) }
        guard case .connection(let change) = event else { return }
        opening?.startedAt[index] = nil
        switch change {
        case .up, .resumed:
            opening?.result.latencies.record(startedAt.duration(to: .now))
        case .down(_, let reason, _):
            opening?.result.failures["open: \(reason)", default: 0] += 1
            phones[index].abandon()
        case .gone(let reason):
            opening?.result.failures["open: \(reason)", default: 0] += 1
        case .offline:
            opening?.result.failures["open: went offline", default: 0] += 1
        }
        settled()
    }

    private func settled() {
        guard var state = opening else { return }
        state.isOpen += 1
        guard state.isOpen < phones.count else {
            opening = nil
            state.result.elapsed = state.began.duration(to: .now)
            return state.completion(state.result)
        }
        if state.isOpen.isMultiple(of: Self.progressStep) {
            state.progress("\(state.isOpen) of \(phones.count) sessions")
        }
        opening = state
        openNext()
    }

    /// Drops every connection without a word. Any thread.
    static func close(_ fleet: LoopBound<Fleet>) async {
        await fleet.loop.run {
            let fleet = fleet.value
            for phone in fleet.phones { phone.abandon() }
            fleet.onEvent = { _, _ in }
            fleet.phones = []
        }
    }
}

@available(*, unavailable)
extension Fleet: Sendable {}

extension EventLoop {
    /// Runs `body` on the loop and waits until it calls what it is given, once.
    func result<Value: Sendable>(
        _ body: @escaping @Sendable (_ done: @escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let isRunning = execute { body { continuation.resume(with: $0) } }
            if !isRunning { continuation.resume(throwing: LoadError("the thread \(name) has ended")) }
        }
    }
}
