import AdminKit
import AdminProtocol

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
