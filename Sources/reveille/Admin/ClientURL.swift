import AdminKit
import AdminProtocol
import CallServer

/// Where a server takes clients.
struct ClientURL {
    let text: String
    /// How it was found, for people.
    let source: String

    /// Long enough for a server on this machine that is busy.
    private static let patience = Duration.seconds(5)

    /// What the server on a data folder says of itself on its admin socket.
    /// - Throws: ``AdminProblem`` when none runs there.
    static func find(_ folder: DataFolder) async throws -> ClientURL {
        let address = AdminAddress.folder(folder)
        let client = try address.connect(patience: patience)
        let answer: Result<ServerInfo, AdminFailure>
        do throws(AdminFailure) {
            answer = .success(try await client.perform(GetServerInfo()))
        } catch {
            answer = .failure(error)
        }
        await client.close()
        switch answer {
        case .success(let info):
            return ClientURL(text: info.clientURL ?? "ws://\(info.address)", source: "the server \(address.words)")
        case .failure(.notRunning) where folder.process == nil:
            throw AdminProblem(
                .unreachable,
                "no server is running \(address.words); start one with reveille serve, or name its data folder with "
                    + "--data, or its URL with --server ws://host:port")
        case .failure(let failure): throw AdminProblem(failure, address)
        }
    }
}
