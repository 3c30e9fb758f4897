import CallStore
import EventLoop

extension DataFolder {
    /// The process that has the store in this folder open for writing, mostly a server; nil where none is found.
    public var process: Int32? { CallStore.process(on: path) }

    /// The admin socket of the server on this folder.
    /// - Throws: ``Failure`` when its path is too long for a Unix socket.
    public func adminSocket() throws(Failure) -> SocketAddress {
        let path = self.path + "/admin.sock"
        do {
            return try SocketAddress(path: path)
        } catch {
            throw Failure(
                description:
                    "the data folder's path is too long: the socket \(path) would take \(path.utf8.count) bytes "
                    + "and the system allows \(SocketAddress.longestPath); name another with --data, "
                    + "a shorter or a relative path")
        }
    }
}
