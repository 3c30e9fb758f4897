import PushSimulator

/// What the push simulator has seen over a run. Any thread.
struct PushBooks: Sendable {
    private let admin: PushSimulatorAdmin
    private let before: PushSimulatorSnapshot.Counts

    /// Looks at the simulator before the load.
    /// - Throws: ``LoadError`` when it does not answer.
    init(folder: String) async throws {
        do {
            admin = try PushSimulatorAdmin(folder: folder)
            before = try await admin.snapshot().counts
        } catch {
            throw LoadError("\(error)")
        }
    }

    /// - Parameter isQuiet: nobody else pushes to it, and nothing is to go wrong: then each push has to be accepted,
    ///   delivered and reported.
    func close(isQuiet: Bool) async throws -> (figures: [Figure], violations: [String]) {
        let now = try await admin.snapshot().counts
        let received = now.received - before.received
        let accepted = now.accepted - before.accepted
        let delivered = now.delivered - before.delivered
        let reported = now.reported - before.reported
        let kills = now.kills - before.kills
        let inVain = now.reportedInVain - before.reportedInVain
        let figures = [
            figure("provider_received", received, "requests that came to the push provider"),
            figure("provider_accepted", accepted, "those that it answered with 200"),
            figure("provider_refused", now.rejectedTotal - before.rejectedTotal, "those that it refused"),
            figure("provider_delivered", delivered, "pushes that it gave to phones"),
            figure("provider_reported", reported, "pushes that apps reported to their phone's system in time"),
            figure("provider_reported_in_vain", inVain, "reports of a push that was not waited for"),
            figure("provider_kills", kills, "apps that their phone's system ended for a push without a report"),
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

    private func figure(_ key: String, _ count: Int, _ definition: String) -> Figure {
        Figure(key, .pushes, Double(count), .count, definition + ", by the provider's own count over the whole run")
    }
}
