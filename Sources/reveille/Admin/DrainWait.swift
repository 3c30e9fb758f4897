import AdminKit
import AdminProtocol
import CallVocabulary
import UnixSignals

/// Watches a server that drains until no call is live any more.
struct DrainWait {
    typealias Live = [CallState: Int]

    enum Outcome: Equatable {
        case quiet
        /// The others with the calls that are left, as far as they are known.
        case timeIsUp(Live)
        case interrupted(Live)
        case lost(String, Live)
    }

    private enum Event: Sendable {
        case live(Live)
        case lost(String)
        case timeIsUp
        case interrupted
    }

    /// A call that was taken just before the drain is on disk, and then in the figures, a moment later: the second
    /// picture without any is to be believed.
    private static let quietPictures = 2
    /// For the server to end once it was told to.
    private static let stopPatience = Duration.seconds(60)

    private let server: Administration
    private let events: AsyncStream<Event>
    private let happened: AsyncStream<Event>.Continuation

    init(server: Administration) {
        self.server = server
        // A picture a second comes; who is late needs but the last ones.
        (events, happened) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(16))
    }

    /// Shows the calls that are left until there are none.
    func untilQuiet(within timeout: Duration) async throws -> Outcome {
        let signals = await Interrupt.signals()
        let interrupt = Task { [happened] in
            for await _ in signals { happened.yield(.interrupted) }
        }
        let timer = alarm(after: timeout)
        defer {
            timer.cancel()
            interrupt.cancel()
        }
        try await subscribe()
        var progress = ProgressLine()
        defer { progress.clear() }
        var (left, quiet) = (Live(), 0)
        for await event in events {
            switch event {
            case .live(let live):
                left = live
                quiet = live.values.reduce(0, +) == 0 ? quiet + 1 : 0
                progress.show("\(Self.words(live)) live")
                if quiet == Self.quietPictures { return .quiet }
            case .lost(let words): return .lost(words, left)
            case .timeIsUp: return .timeIsUp(left)
            case .interrupted: return .interrupted(left)
            }
        }
        return .interrupted(left)
    }

    /// Stops the server and waits until it is gone.
    /// - Returns: whether it is.
    func stop() async throws -> Bool {
        _ = try await server.perform(StopServer())
        let timer = alarm(after: Self.stopPatience)
        defer { timer.cancel() }
        for await event in events {
            switch event {
            case .lost: return true
            case .timeIsUp: return false
            case .live, .interrupted: break
            }
        }
        return false
    }

    private func alarm(after time: Duration) -> Task<Void, any Error> {
        Task { [happened] in
            try await Task.sleep(for: time)
            happened.yield(.timeIsUp)
        }
    }

    private func subscribe() async throws {
        let subscription = SubscribeToStats(intervalMilliseconds: 1000)
        do throws(AdminFailure) {
            _ = try await server.client.subscribe(subscription) { [happened, address = server.address] event in
                switch event {
                case .notification(let changed): happened.yield(.live(changed.stats.calls.live))
                case .ended(let failure): happened.yield(.lost(AdminProblem(failure, address).words))
                }
            }
        } catch {
            throw AdminProblem(error, server.address)
        }
    }

    /// `3 calls (1 ringing, 2 connected)`.
    static func words(_ live: Live) -> String {
        let count = live.values.reduce(0, +)
        let states = CallState.allCases.compactMap { state in
            live[state].flatMap { $0 == 0 ? nil : "\($0) \(state.rawValue)" }
        }
        return PartyText.count(count, "call") + (states.isEmpty ? "" : " (\(states.joined(separator: ", ")))")
    }
}
