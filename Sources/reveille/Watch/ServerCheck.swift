import AdminKit
import AdminProtocol
import ArgumentParser

/// One request to the server, on a connection of its own.
enum ServerCheck {
    /// - Throws: exit code 1 when it is refused and 2 when the server cannot be reached, having said why.
    static func ask<Answer: Sendable>(
        _ address: AdminAddress, _ question: (AdminClient) async throws(AdminFailure) -> Answer
    ) async throws -> Answer {
        let client = try address.connect()
        do throws(AdminFailure) {
            let answer = try await question(client)
            await client.close()
            return answer
        } catch {
            await client.close()
            Terminal.complain("reveille: \(AdminProblem(error, address).words)")
            if case .refused = error { throw Exit.failed }
            throw Exit.unavailable
        }
    }

    /// Checks that the server answers, before the full screen is entered.
    static func check(_ address: AdminAddress) async throws {
        do {
            _ = try await ask(address) { client throws(AdminFailure) in try await client.perform(GetServerInfo()) }
        } catch is ExitCode {
            // Whatever it is that the server has against it: there is nothing to watch.
            throw Exit.unavailable
        }
    }
}
