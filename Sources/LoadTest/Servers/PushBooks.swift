import PushSimulator

/// The counts of the push simulator over a run. Any thread.
struct PushBooks: Sendable {
    typealias Counts = PushSimulatorSnapshot.Counts

    /// A phone's report has its own connection and may arrive after the question: 2 s, or longer without a free core.
    static let mostQuestions = 40
    private static let pollInterval = Duration.milliseconds(50)

    private let ask: @Sendable () async throws -> Counts
    private let pause: @Sendable () async -> Void
    private let before: Counts

    /// Reads the counts before the load.
    /// - Throws: ``LoadError``.
    init(folder: String) async throws {
        do {
            let admin = try PushSimulatorAdmin(folder: folder)
            try await self.init { try await admin.snapshot().counts }
        } catch {
            throw LoadError("\(error)")
        }
    }

    /// - Parameters:
    ///   - ask: reads the simulator's counts.
    ///   - pause: waits between two questions.
    init(
        ask: @escaping @Sendable () async throws -> Counts,
        pause: @escaping @Sendable () async -> Void = { await StopRequest.pause(pollInterval) }
    ) async throws {
        self.ask = ask
        self.pause = pause
        before = try await ask()
    }

    /// - Parameter isQuiet: no other pushes and no faults, so that each push must be accepted, delivered and reported.
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

    /// The counts once every push has been reported, or after the last question.
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
