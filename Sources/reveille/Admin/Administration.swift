import AdminKit
import AdminProtocol
import CallServer

/// A connection to a running server for the time of a command.
struct Administration: Sendable {
    let address: AdminAddress
    let client: AdminClient

    /// Connects for as long as `body` takes.
    static func with<Result>(
        _ server: ServerOptions, patience: Duration = AdminClient.standardPatience,
        _ body: (Administration) async throws -> Result
    ) async throws -> Result {
        let address = try server.address()
        let administration = Administration(address: address, client: try address.connect(patience: patience))
        do {
            let result = try await body(administration)
            await administration.client.close()
            return result
        } catch {
            await administration.client.close()
            throw error
        }
    }

    /// The server on a data folder.
    enum Found {
        /// To be closed by the caller.
        case running(Administration)
        /// It is there and does not answer; the words say so.
        case silent(String)
        case none
    }

    /// Looks for the server on a data folder. A standby counts as none: it answers no commands.
    /// - Throws: ``AdminProblem`` when the server refuses, as for another user.
    static func find(on folder: DataFolder) async throws -> Found {
        let address = AdminAddress.folder(folder)
        // A path that is too long for a socket has none.
        guard let client = try? address.connect() else { return .none }
        do throws(AdminFailure) {
            _ = try await client.perform(GetServerInfo())
            return .running(Administration(address: address, client: client))
        } catch {
            await client.close()
            switch error {
            case .notRunning where folder.process != nil: return .silent(AdminProblem(error, address).words)
            case .notRunning, .unreachable: return .none
            case .timedOut, .lost: return .silent(AdminProblem(error, address).words)
            case .notAllowed, .tokenRefused, .untrusted, .refused, .notTaken: throw AdminProblem(error, address)
            }
        }
    }

    /// Sends one request to the server.
    static func ask<Request: AdminRequest>(
        _ request: Request, of server: ServerOptions, missing: String? = nil
    ) async throws -> Request.Response {
        try await with(server) { try await $0.perform(request, missing: missing) }
    }

    /// - Parameter missing: the message for `not_found`, with the command that lists what exists.
    func perform<Request: AdminRequest>(
        _ request: Request, missing: String? = nil
    ) async throws(AdminProblem) -> Request.Response {
        do throws(AdminFailure) {
            return try await client.perform(request)
        } catch {
            throw AdminProblem(error, address, missing: missing)
        }
    }

    /// All pages of a list, or the first items.
    func all<Request: AdminListRequest>(
        _ request: Request, atMost limit: Int = .max, missing: String? = nil
    ) async throws(AdminProblem) -> [Request.Item] {
        do throws(AdminFailure) {
            return try await client.all(request, atMost: limit)
        } catch {
            throw AdminProblem(error, address, missing: missing)
        }
    }
}
