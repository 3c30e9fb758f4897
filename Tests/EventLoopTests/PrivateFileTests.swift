import EventLoop
import Foundation
import Glibc
import Synchronization
import TestCleanup
import Testing

@Suite("A private file", .cleanup)
struct PrivateFileTests {
    private let folder: String

    init() throws {
        let folder = NSTemporaryDirectory() + "reveille-private-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        atEnd { try? FileManager.default.removeItem(atPath: folder) }
        self.folder = folder
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    @Test("is its owner's alone, also in place of one that everybody could read, and leaves no draft")
    func replaced() throws {
        let path = folder + "/a.key"
        try Data("old".utf8).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o666], ofItemAtPath: path)
        #expect(try PrivateFile.write("new".utf8, to: path))
        #expect(try text(path) == "new" && mode(path) == 0o600)
        #expect(try PrivateFile.write("all".utf8, to: path, mode: 0o644))
        #expect(try text(path) == "all" && mode(path) == 0o644)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.key"])
    }

    @Test("that is new takes no other's place")
    func new() throws {
        let path = folder + "/a.key"
        #expect(try PrivateFile.write("first".utf8, to: path, isNew: true))
        #expect(try !PrivateFile.write("second".utf8, to: path, isNew: true))
        #expect(try text(path) == "first" && mode(path) == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.key"])
    }

    @Test("is read whole, and one that is none, or is too long, is told from none without a wait")
    func read() throws {
        let path = folder + "/a"
        #expect(try PrivateFile.read(path) == nil && !PrivateFile.isThere(path), "there is none")
        for count in [0, 1, 4096, 100_000] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            try PrivateFile.write(bytes, to: path)
            #expect(try PrivateFile.read(path) == bytes)
            #expect(try PrivateFile.read(path, longest: count) == bytes)
            guard count > 0 else { continue }
            let tooLong = #expect(throws: SystemError.self) { try PrivateFile.read(path, longest: count - 1) }
            #expect(tooLong?.errno == EFBIG)
        }
        // Takes no room on the disk, and would take 1 TiB of memory.
        #expect(truncate(path, 1 << 40) == 0)
        #expect(throws: SystemError.self) { try PrivateFile.read(path) }
        let others: [(Int32, () throws -> Void)] = [
            (EISDIR, { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false) }),
            (ENOTSUP, { #expect(mkfifo(path, 0o600) == 0) }), (ELOOP, { #expect(symlink(path, path) == 0) }),
            (ENOENT, { #expect(symlink(path + ".none", path) == 0) }),
            (ENOTSUP, { #expect(symlink("/dev/zero", path) == 0) }),
        ]
        for (reason, make) in others {
            try FileManager.default.removeItem(atPath: path)
            try make()
            let failure = #expect(throws: SystemError.self) { try PrivateFile.read(path) }
            #expect(failure?.errno == reason && failure?.description.contains(path) == true)
            #expect(PrivateFile.isThere(path))
        }
    }

    @Test("that is made while it is looked for is read, or is not there yet")
    func appears() {
        let path = folder + "/a"
        let failures = Mutex<[String]>([])
        DispatchQueue.concurrentPerform(iterations: 2) { number in
            for _ in 0..<20_000 {
                if number == 0 {
                    close(open(path, O_WRONLY | O_CREAT, 0o600))
                    unlink(path)
                } else {
                    do { _ = try PrivateFile.read(path) } catch { failures.withLock { $0.append("\(error)") } }
                }
            }
        }
        #expect(failures.withLock { $0 } == [])
    }

    @Test("that cannot be written says why")
    func failed() throws {
        let error = #expect(throws: SystemError.self) { try PrivateFile.write("a".utf8, to: folder + "/none/a.key") }
        #expect(error?.errno == ENOENT)
        try FileManager.default.createDirectory(atPath: folder + "/b", withIntermediateDirectories: false)
        #expect(throws: SystemError.self) { try PrivateFile.write("a".utf8, to: folder + "/b") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["b"])
    }
}
