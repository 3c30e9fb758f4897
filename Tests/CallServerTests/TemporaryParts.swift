import AdminKit
import CallServer
import EventLoop
import Foundation
import Logging
import TestCleanup

extension DataFolder {
    /// A new folder, removed at the end of the test.
    static func temporary() throws -> DataFolder {
        let folder = DataFolder(path: NSTemporaryDirectory() + "test-\(UUID().uuidString.prefix(8))")
        try folder.prepare()
        atEnd { try? FileManager.default.removeItem(atPath: folder.path) }
        return folder
    }
}

extension EventLoop {
    /// A loop on its own thread, which ends with the test.
    static func started(_ name: String) throws -> EventLoop {
        let loop = try EventLoop(name: name)
        loop.start()
        atEnd { await loop.stopAndWait() }
        return loop
    }
}

extension AdminClient {
    /// A client that is closed at the end of the test.
    static func connected(to socket: SocketAddress, patience: Duration = standardPatience) throws -> AdminClient {
        let client = try AdminClient(socket: socket, patience: patience)
        atEnd { await client.close() }
        return client
    }
}

extension SocketAddress {
    // Force-unwrap: the literal is a numeric address.
    static let anyPort = SocketAddress(host: "127.0.0.1", port: 0)!
}

extension Logger {
    static let none = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
