import AdminKit
import AdminProtocol
import CallServer
import CallVocabulary
import EventLoop

/// What a load sets at the server by its admin API. Any thread.
struct LoadAdmin: Sendable {
    private let socket: SocketAddress

    /// - Parameter dataFolder: the server's.
    /// - Throws: ``LoadError``.
    init(dataFolder: String) throws {
        do {
            socket = try DataFolder(path: dataFolder).adminSocket()
        } catch {
            throw LoadError("\(error)")
        }
    }

    /// Makes the group, or takes the place of the one with its name. Calls `completion` on `loop`.
    func setGroup(
        _ name: Handle, members: [Handle], on loop: EventLoop,
        completion: @escaping (Result<Void, any Error>) -> Void
    ) {
        let completion = LoopBound(completion, on: loop)
        Task {
            var result: Result<Void, any Error> = .success(())
            do {
                let client = try AdminClient(socket: socket)
                do {
                    _ = try await client.perform(SetGroup(name: name, strategy: .all, members: members))
                } catch {
                    result = .failure(LoadError("the group \(name) could not be set: \(error)"))
                }
                await client.close()
            } catch {
                result = .failure(LoadError("the admin API cannot be asked: \(error)"))
            }
            loop.execute { [result] in completion.value(result) }
        }
    }
}
