import EventLoop
import Foundation
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

    @Test("that cannot be written says why")
    func failed() throws {
        let error = #expect(throws: SystemError.self) { try PrivateFile.write("a".utf8, to: folder + "/none/a.key") }
        #expect(error?.errno == ENOENT)
        try FileManager.default.createDirectory(atPath: folder + "/b", withIntermediateDirectories: false)
        #expect(throws: SystemError.self) { try PrivateFile.write("a".utf8, to: folder + "/b") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["b"])
    }
}
