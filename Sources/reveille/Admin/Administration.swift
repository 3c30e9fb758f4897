import AdminKit
import CallServer
import CallVocabulary

/// Asks the running server, and turns what can go wrong into words and exit codes.
enum Administration {
    /// - Parameter missing: what to say when there is no such thing, with where to look for what there is.
    static func ask(_ command: AdminCommand, of data: DataOptions, missing: String? = nil) async throws -> AdminReply {
        do {
            let client = try AdminClient(socket: try data.folder.adminSocket())
            do throws(AdminFailure) {
                let reply = try await client.perform(command)
                await client.close()
                return reply
            } catch {
                await client.close()
                throw failure(error, data.folder, missing)
            }
        } catch {
            throw Terminal.unavailable(error)
        }
    }

    /// Another kind of answer than the request has: the server is not of this program's version.
    static func unexpected() -> any Error {
        Terminal.complain("reveille: the server's answer is of another version; use the reveille that runs the server")
        return Exit.unavailable
    }

    private static func failure(_ failure: AdminFailure, _ folder: DataFolder, _ missing: String?) -> any Error {
        switch failure {
        case .refused(let refusal):
            let words = refusal.code == .notFound ? missing ?? refusal.message : refusal.message
            Terminal.complain("reveille: \(words)")
            return Exit.failed
        case .notRunning:
            Terminal.complain(
                "reveille: no server is running on \(folder.path); start one with reveille serve, "
                    + "or name its data folder with --data")
        case .notAllowed(let socket):
            Terminal.complain(
                "reveille: this user may not use \(socket); run this as the user who runs the server")
        case .unreachable(let words):
            Terminal.complain("reveille: the server on \(folder.path) cannot be reached: \(words)")
        case .lost(let words):
            Terminal.complain(
                "reveille: the server went away before it answered (\(words)); look whether the change was made")
        case .timedOut:
            Terminal.complain(
                "reveille: the server on \(folder.path) does not answer; look at its log and at GET /readyz")
        case .notTaken(let error): Terminal.complain("reveille: the server did not take it: \(error.message)")
        }
        return Exit.unavailable
    }
}
