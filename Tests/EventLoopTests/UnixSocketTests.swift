import EventJournal
import EventLoop
import Foundation
import Glibc
import Testing

@Suite("Unix sockets")
struct UnixSocketTests {
    /// What lives on the loop.
    private final class Listeners {
        var all: [SocketAcceptor] = []
    }

    /// A loop, and a folder for sockets.
    private final class Fixture {
        let folder = NSTemporaryDirectory() + "unix-\(UUID().uuidString.prefix(8))"
        let accepted = Journal<Int32>()
        let loop: EventLoop
        let listeners: LoopBound<Listeners>

        init() throws {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            loop = try EventLoop(name: "unix test")
            listeners = LoopBound(Listeners(), on: loop)
            loop.start()
        }

        var path: String { folder + "/a.sock" }

        func address(_ path: String? = nil) throws -> SocketAddress { try SocketAddress(path: path ?? self.path) }

        func listen(at address: SocketAddress) async throws -> SocketAddress {
            let result = await loop.run { [loop, listeners, accepted] in
                Result {
                    let acceptor = try SocketAcceptor(loop: loop, address: address) { accepted.append($0) }
                    listeners.value.all.append(acceptor)
                    return acceptor.address
                }
            }
            return try #require(result).get()
        }

        func letGo() async {
            _ = await loop.run { [listeners] in listeners.value.all = [] }
        }

        func end() async {
            await letGo()
            await loop.stopAndWait()
            for descriptor in accepted.entries { close(descriptor) }
            try? FileManager.default.removeItem(atPath: folder)
        }
    }

    private func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }

    private func failure(_ body: () async throws -> SocketAddress) async -> Int32? {
        do {
            _ = try await body()
            return nil
        } catch {
            return (error as? SystemError)?.errno
        }
    }

    /// What a process leaves that was killed while it listened.
    private func leaveDeadSocket(at address: SocketAddress) throws {
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var raw = sockaddr_un()
        raw.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &raw.sun_path) { $0.copyBytes(from: Array(address.description.utf8)) }
        let bound = withUnsafePointer(to: &raw) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        try #require(bound == 0)
        close(descriptor)
    }

    @Test("a listener is reached by its path, is for its user only, and takes its name away at the end")
    func listening() async throws {
        let fixture = try Fixture()
        let address = try fixture.address()
        #expect(throws: SystemError.self) { try address.probe() }
        let bound = try await fixture.listen(at: address)
        #expect(bound.path == fixture.path)
        #expect(bound.description == fixture.path)
        #expect(bound.isLoopback && bound.port == 0 && bound.host.isEmpty)
        var status = stat()
        #expect(lstat(fixture.path, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFSOCK)
        #expect(status.st_mode & 0o777 == 0o600)
        try address.probe()
        try await fixture.accepted.wait(for: "a connection") { $0.count == 1 }
        await fixture.letGo()
        #expect(!exists(fixture.path))
        await fixture.end()
    }

    @Test("a socket that nobody listens on any more is replaced; one that is answered is not, and goes on")
    func deadOrAlive() async throws {
        let fixture = try Fixture()
        let address = try fixture.address()
        try leaveDeadSocket(at: address)
        #expect(throws: SystemError.self) { try address.probe() }
        _ = try await fixture.listen(at: address)
        try address.probe()
        #expect(await failure { try await fixture.listen(at: address) } == EADDRINUSE)
        try address.probe()
        try await fixture.accepted.wait(for: "three probes, and the other listener's look") { $0.count == 3 }
        await fixture.end()
    }

    @Test("what is no socket is left alone, whatever it is", arguments: ["file", "folder", "link"])
    func noSocket(kind: String) async throws {
        let fixture = try Fixture()
        switch kind {
        case "file": try Data("precious".utf8).write(to: URL(fileURLWithPath: fixture.path))
        case "folder": try FileManager.default.createDirectory(atPath: fixture.path, withIntermediateDirectories: false)
        default:
            try leaveDeadSocket(at: try fixture.address(fixture.folder + "/b.sock"))
            #expect(symlink(fixture.folder + "/b.sock", fixture.path) == 0)
        }
        let address = try fixture.address()
        #expect(await failure { try await fixture.listen(at: address) } == EADDRINUSE)
        #expect(exists(fixture.path))
        if kind == "file" { #expect(FileManager.default.contents(atPath: fixture.path) == Data("precious".utf8)) }
        await fixture.end()
    }

    @Test("a name that has become somebody else's is not taken away")
    func othersName() async throws {
        let fixture = try Fixture()
        let address = try fixture.address()
        _ = try await fixture.listen(at: address)
        unlink(fixture.path)
        try leaveDeadSocket(at: address)
        await fixture.letGo()
        #expect(exists(fixture.path))
        await fixture.end()
    }

    @Test("a path takes 107 bytes, and not one more")
    func longPaths() async throws {
        let fixture = try Fixture()
        let longest = fixture.folder + "/" + String(repeating: "x", count: 106 - fixture.folder.utf8.count)
        let bound = try await fixture.listen(at: try fixture.address(longest))
        #expect(bound.path == longest)
        #expect(exists(longest))
        let error = #expect(throws: SystemError.self) { _ = try SocketAddress(path: longest + "x") }
        #expect(error?.errno == ENAMETOOLONG)
        #expect(error?.description.contains("at most 107 bytes") == true)
        for path in ["", "a\0b"] {
            #expect(#expect(throws: SystemError.self) { _ = try SocketAddress(path: path) }?.errno == EINVAL)
        }
        await fixture.end()
    }
}
