import AdminKit
import AdminProtocol
import CallVocabulary
import Foundation
import Synchronization

/// What it costs the core that somebody watches all live calls, while some of them come and go.
///
/// One server in this process, with its real store, sockets and phones. In each round the core's CPU time is taken twice,
/// without a watcher and with one.
public struct WatchBenchmark: Sendable {
    public var liveCalls: Int
    /// Pairs of phones that call each other; each call goes through its states in ``pace``.
    public var pairs = 20
    public var pace = Duration.milliseconds(400)
    /// How long is measured each time; longer where no call was completed in it, or none told, up to ``patience``.
    public var window = Duration.seconds(10)
    public var patience = Duration.seconds(60)
    public var rounds: Int

    public init(liveCalls: Int, rounds: Int) {
        self.liveCalls = liveCalls
        self.rounds = rounds
    }

    /// - Throws: ``BenchmarkError`` and the errors of what it is made of: no result.
    public func run(progress: (WatchComparison.Round) -> Void) async throws -> WatchComparison {
        precondition(rounds > 0 && liveCalls >= 0 && pairs > 0, "a round with phones at least")
        let server = try await WatchedServer.start(liveCalls: liveCalls)
        do {
            let comparison = try await compare(server, progress)
            await server.stop()
            return comparison
        } catch {
            await server.stop()
            throw error
        }
    }

    private func compare(
        _ server: WatchedServer, _ progress: (WatchComparison.Round) -> Void
    ) async throws -> WatchComparison {
        let churn = try await server.startCalls(pairs: pairs, pace: pace)
        do {
            var comparison = WatchComparison(liveCalls: liveCalls)
            for _ in 0..<rounds {
                let round = try await measure(server, churn)
                comparison.rounds.append(round)
                progress(round)
            }
            await churn.stop()
            return comparison
        } catch {
            await churn.stop()
            throw error
        }
    }

    private func measure(_ server: WatchedServer, _ churn: CallChurn) async throws -> WatchComparison.Round {
        let (core, admin) = (try ThreadUsage(name: "core"), try ThreadUsage(name: "admin"))
        func share(
            isComplete: () -> Bool = { true }
        ) async throws -> (core: Double, admin: Double, calls: Int, seconds: Double) {
            let before = (try core.seconds(), try admin.seconds(), try churn.completed())
            let began = ContinuousClock.now
            repeat {
                guard ContinuousClock.now - began <= patience else { throw BenchmarkError("no call was made or seen") }
                try await Task.sleep(for: window)
            } while try churn.completed() == before.2 || !isComplete()
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            return (
                (try core.seconds() - before.0) / seconds, (try admin.seconds() - before.1) / seconds,
                try churn.completed() - before.2, seconds
            )
        }
        let alone = try await share()
        let client = try AdminClient(socket: server.adminSocket)
        let told = Told()
        try await client.subscribe(SubscribeToCalls()) { event in
            if case .notification(let frame) = event { told.take(frame) }
        }
        // The first picture is no part of what is compared; it is the admin thread's work.
        for _ in 0..<1000 where told.known < liveCalls { try await Task.sleep(for: .milliseconds(20)) }
        guard told.known >= liveCalls else { throw BenchmarkError("the first picture has \(told.known) calls") }
        let before = told.views
        let watched = try await share { told.views > before }
        let views = told.views - before
        await client.close()
        return WatchComparison.Round(
            coreAlone: alone.core, coreWatched: watched.core, adminAlone: alone.admin, adminWatched: watched.admin,
            callsAlone: alone.calls, callsWatched: watched.calls, views: views, secondsWatched: watched.seconds)
    }
}

/// Counts what the watcher is told. Any thread.
private final class Told: Sendable {
    private struct State {
        var calls: Set<CallID> = []
        var views = 0
    }

    private let state = Mutex(State())

    func take(_ frame: CallsChanged) {
        state.withLock { state in
            if frame.isReset { state.calls = [] }
            state.views += frame.calls.count
            for call in frame.calls { state.calls.insert(call.callID) }
            for id in frame.gone { state.calls.remove(id) }
        }
    }

    /// Calls it knows of.
    var known: Int { state.withLock { $0.calls.count } }
    var views: Int { state.withLock { $0.views } }
}
