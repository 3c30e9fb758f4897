import PushSimulator

/// What the push simulator has seen over a run. Any thread.
struct PushBooks: Sendable {
    typealias Counts = PushSimulatorSnapshot.Counts

    /// A phone's report goes another way than the question for the books, and may come after it: 2 s, or longer where
    /// this process waits for a core, as the phones then do.
    static let mostQuestions = 40
    private static let pollInterval = Duration.milliseconds(50)

    private let ask: @Sendable () async throws -> Counts
    private let pause: @Sendable () async -> Void
    private let before: Counts

    /// Looks at the simulator before the load.
    /// - Throws: ``LoadError`` when it does not answer.
    init(folder: String) async throws {
        do {
            let admin = try PushSimulatorAdmin(folder: folder)
            try await self.init { try await admin.snapshot().counts }
        } catch {
            throw LoadError("\(error)")
        }
    }

    /// - Parameters:
    ///   - ask: gives what the simulator has counted so far.
    ///   - pause: lets the time between two questions pass.
    init(
        ask: @escaping @Sendable () async throws -> Counts,
        pause: @escaping @Sendable () async -> Void = { await StopRequest.pause(pollInterval) }
    ) async throws {
        self.ask = ask
        self.pause = pause
        before = try await ask()
    }

    /// - Parameter isQuiet: nobody else pushes to it, and nothing is to go wrong: then each push has to be accepted,
    ///   delivered and reported.
    func close(isQuiet: Bool) async throws -> (figures: [Figure], violations: [String]) {
        let now = try await isQuiet ? balanced() : ask()
        let received = now.received - before.received
        let accepted = now.accepted - before.accepted
        let delivered = now.delivered - before.delivered
        let reported = now.reported - before.reported
        let kills = now.kills - before.kills
        let inVain = now.reportedInVain - before.reportedInVain
        typealias Pushes = LoadFigure.Pushes
        let figures = [
            Pushes.providerReceived.figure(received), Pushes.providerAccepted.figure(accepted),
            Pushes.providerRefused.figure(now.rejectedTotal - before.rejectedTotal),
            Pushes.providerDelivered.figure(delivered), Pushes.providerReported.figure(reported),
            Pushes.providerReportedInVain.figure(inVain), Pushes.providerKills.figure(kills),
        ]
        guard isQuiet else { return (figures, []) }
        var violations: [String] = []
        func expect(_ count: Int, _ other: Int, _ words: String) {
            if count != other { violations.append("push provider: \(count) \(words) \(other)") }
        }
        expect(received, accepted, "requests, accepted")
        expect(accepted, delivered, "pushes accepted, delivered")
        expect(delivered, reported, "pushes delivered, reported")
        expect(kills, 0, "apps ended, expected")
        return (figures, violations)
    }

    /// What is counted once each push is where it belongs, or after all patience.
    private func balanced() async throws -> Counts {
        var questions = 0
        while true {
            let now = try await ask()
            questions += 1
            let steps = [
                now.received - before.received, now.accepted - before.accepted, now.delivered - before.delivered,
                now.reported - before.reported,
            ]
            if Set(steps).count == 1 || questions == Self.mostQuestions { return now }
            await pause()
        }
    }
}
