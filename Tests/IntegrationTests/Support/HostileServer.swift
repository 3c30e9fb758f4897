import CallVocabulary
import Foundation
import Glibc
import PushCore
import PushVocabulary
import TestCleanup

/// A running `hostile.py`, and its report of requests.
final class HostileServer: Sendable {
    /// How the server left a request.
    enum Fate: String, Sendable {
        /// Answered with 200, or with a refusal.
        case accepted, rejected
        /// Answered with 5xx: one retry is permitted.
        case retryable
        /// Not processed: repetition is permitted.
        case unprocessed
        /// Unknown to the client.
        case dark
    }

    struct Attempt: Sendable {
        let connection: Int
        let fate: Fate
    }

    struct Account: Sendable {
        /// By `apns-id`, in order of arrival.
        var attempts: [String: [Attempt]] = [:]
        var connections = 0
        var violations: [String] = []
    }

    let port: UInt16
    private let program: Program

    init(_ scenario: String) async throws {
        let certificate = try await OpenSSL.forThisMachine.value
        program = try Program(
            "/usr/bin/python3",
            [
                Program.scripts + "/hostile.py", certificate.certificateFile, certificate.keyFile, scenario,
            ], environment: ["PYTHONDONTWRITEBYTECODE": "1"])
        atEnd { [program] in await program.abandon() }
        do {
            port = try await program.output.first("the server's port") { UInt16($0) }
        } catch {
            throw InVain(what: "the server's port", seen: program.errors.entries)
        }
    }

    /// Makes the server behave correctly; returns once it does.
    func behave() async throws {
        program.send(SIGUSR1)
        try await program.errors.first("it behaves") { $0 == Self.behaves ? true : nil }
    }

    /// Its message on standard error once it behaves.
    private static let behaves = "behaves"

    /// Stops it and reads its report.
    func end() async throws -> Account {
        program.send(SIGTERM)
        let result = try await program.result()
        guard result.ending == .exit(0) else { throw InVain(what: "the server ends", seen: program.errors.entries) }
        var account = Account()
        for line in result.output.split(separator: "\n").dropFirst() {
            let object = try JSONObject(String(line))
            if let id = object["id"] as? String, let connection = object["connection"] as? Int,
                let fate = (object["fate"] as? String).flatMap(Fate.init)
            {
                account.attempts[id, default: []].append(Attempt(connection: connection, fate: fate))
            } else if let connections = object["connections"] as? Int {
                account.connections = connections
                account.violations = object["violations"] as? [String] ?? []
            }
        }
        // Errors of its threads.
        account.violations += result.errorLines.filter { $0 != Self.behaves }.map(String.init)
        return account
    }
}

extension HostileServer.Account {
    /// The contradictions between the client's outcomes and this report.
    func contradictions(of histories: [PushID: Pusher.History]) -> [String] {
        var found = violations
        let known = Set(histories.keys.map(\.description))
        found += attempts.keys.filter { !known.contains($0) }.map { "\($0) was never queued" }
        for (push, history) in histories {
            let attempts = attempts[push.description] ?? []
            let fates = attempts.map(\.fate)
            let story = "\(push): \(history.final), sent \(fates)"
            guard history.final.count == 1, history.lateWords == 0, let outcome = history.final.first else {
                found.append("not one outcome, or words after it: \(story)")
                continue
            }
            if fates.dropLast().contains(where: { $0 != .unprocessed && $0 != .retryable }) {
                found.append("sent again though it may have been taken: \(story)")
            }
            if fates.count(where: { $0 == .retryable }) > 2 { found.append("retried more than once: \(story)") }
            for (attempt, next) in zip(attempts, attempts.dropFirst())
            where attempt.fate == .retryable && attempt.connection == next.connection {
                found.append("retried on the connection that failed it: \(story)")
            }
            if !Self.isHonest(outcome, after: fates.last) { found.append("not what happened: \(story)") }
        }
        return found
    }

    /// Whether `outcome` is a valid result for a push with this last fate, or with none.
    private static func isHonest(_ outcome: PushOutcome, after fate: HostileServer.Fate?) -> Bool {
        switch outcome {
        case .accepted: fate == .accepted
        case .rejected: fate == .rejected || fate == .retryable
        // A response may be lost or late, and a push may be lost before the server reads it.
        case .unknown: true
        case .unsent: fate == nil || fate == .unprocessed || fate == .retryable
        case .returned: false
        }
    }
}
