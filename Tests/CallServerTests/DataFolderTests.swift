import EventLoop
import Foundation
import StoreInterface
import Synchronization
import TestCleanup
import Testing

@testable import CallServer

@Suite(.cleanup) struct DataFolderTests {
    @Test func `first starts at once share one secret, and it is the one that is kept`() throws {
        let folder = try DataFolder.temporary()
        let starts = 8
        for round in 0..<40 {
            let gate = DispatchSemaphore(value: 0)
            let results = Mutex<[[UInt8]]>([])
            let (data, group) = (folder, DispatchGroup())
            for _ in 0..<starts {
                let thread = Thread {
                    gate.wait()
                    let secret = (try? data.secret("key-\(round)")) ?? []
                    results.withLock { $0.append(secret) }
                    group.leave()
                }
                group.enter()
                thread.start()
            }
            for _ in 0..<starts { gate.signal() }
            try #require(group.wait(timeout: .now() + 10) == .success)
            let kept = try data.secret("key-\(round)")
            #expect(kept.count == 32)
            let secrets = results.withLock { $0 }
            #expect(secrets.count == starts && secrets.allSatisfy { $0 == kept }, "round \(round)")
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(Set(left) == Set((0..<40).map { "key-\($0)" }), "no drafts are left")
    }

    @Test func `a folder whose server has its store in a database names the database, without a password`() throws {
        let folder = try DataFolder.temporary()
        try folder.checkStoreIsHere()
        let address = try #require(PostgresAddress("postgres://bob:hush@db.example.org/calls"))
        folder.note(database: address, .none)
        let failure = #expect(throws: StoreFailure.self) { try folder.checkStoreIsHere() }
        let words = failure.map { "\($0)" } ?? ""
        #expect(words.contains("db.example.org/calls") && !words.contains("hush"), "\(words)")
        folder.note(database: nil, .none)
        try folder.checkStoreIsHere()
    }

    @Test func `the folder is in the home that the environment names`() {
        func path(_ environment: [String: String]) -> String { DataFolder.standard(in: environment).path }
        #expect(path(["HOME": "/home/alice"]) == "/home/alice/.local/share/reveille")
        #expect(path(["HOME": "/home/alice", "XDG_DATA_HOME": "/data"]) == "/data/reveille")
        #expect(path(["HOME": "/home/alice", "XDG_DATA_HOME": "/data", "REVEILLE_DATA": "/r"]) == "/r")
        let own = NSHomeDirectory() + "/.local/share/reveille"
        for home in [[:], ["HOME": ""], ["HOME": "alice"]] { #expect(path(home) == own) }
    }

    @Test func `a secret is its owner's alone, and one that is damaged is refused`() throws {
        let folder = try DataFolder.temporary()
        let path = folder.path + "/key"
        let secret = try folder.secret("key")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
        #expect(try folder.secret("key") == secret)
        try Data("0123".utf8).write(to: URL(filePath: path))
        #expect(throws: DataFolder.Failure.self) { try folder.secret("key") }
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("0123".utf8), "it is left for its owner to restore")
    }

    @Test func `a secret that is there and cannot be read is not taken for one that cannot be written`() throws {
        let folder = try DataFolder.temporary()
        try FileManager.default.createDirectory(atPath: folder.path + "/key", withIntermediateDirectories: false)
        let failure = #expect(throws: DataFolder.Failure.self) { try folder.secret("key") }
        #expect(failure?.description.hasPrefix("\(folder.path)/key cannot be read (") == true, "\(failure!)")
    }

    @Test(arguments: [EMFILE, ENFILE, ENOMEM, ENOSPC, EDQUOT, EIO, EACCES])
    func `for a shortage of the machine no file is to be moved away`(code: Int32) {
        let error = SystemError(operation: "open /data/webhooks.json", errno: code)
        let words = DataFolder.unreadable("/data/webhooks.json", error, without: "all is lost").description
        #expect(words.contains("move it away") == (code == EACCES), "\(words)")
        #expect(words.hasSuffix(error.machineRemedy ?? "all is lost"), "\(words)")
    }

    @Test func `what a server keeps is its owner's alone`() throws {
        let folder = try DataFolder.temporary()
        try ClockAnchor(boot: "b", origin: 1, offset: 2).save(in: folder)
        try folder.save(deliveries: Array("{}".utf8))
        _ = try folder.noteApplicationServerKey("key")
        _ = try folder.secret("a.key")
        for file in ["clock.json", "webhooks.json", "webpush.pub", "a.key"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.path + "/" + file)[.posixPermissions]
            #expect(mode as? Int == 0o600, "\(file)")
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).count == 4, "no drafts are left")
    }

    @Test func `a folder below a file is refused with the file's name`() throws {
        for path in ["/dev/null/x", "/dev/null//x/y"] {
            let failure = #expect(throws: DataFolder.Failure.self) { try DataFolder(path: path).prepare() }
            #expect(
                failure?.description
                    == "/dev/null is a file, and \(path) can be no folder in it; name another with --data")
        }
    }

    @Test func `files and folders that everybody can write are told of`() throws {
        let parent = try DataFolder.temporary().path
        let folder = DataFolder(path: parent + "/data")
        try folder.prepare()
        func allow(_ mode: Int, _ file: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        }
        try Data().write(to: URL(filePath: folder.path + "/backend-tokens"))
        try allow(0o622, folder.path + "/backend-tokens")
        try allow(0o755, folder.path)
        try allow(0o755, parent)
        func exposed() -> [String] { folder.exposures().compactMap { $0.split(separator: " ").first.map(String.init) } }
        #expect(exposed() == [folder.path + "/backend-tokens"])
        #expect(folder.exposures().first?.contains("can be written by every user") == true)
        try allow(0o600, folder.path + "/backend-tokens")
        #expect(exposed() == [])
        try allow(0o757, folder.path)
        #expect(exposed() == [folder.path])
        try allow(0o700, folder.path)
        try allow(0o777, parent)
        #expect(exposed() == [URL(filePath: parent).resolvingSymlinksInPath().path])
    }

    @Test func `a link to the folder, or to a file in it, hides nothing`() throws {
        let folder = try DataFolder.temporary()
        let (link, secret) = (folder.path + "-link", folder.path + "-secret")
        defer { for path in [link, secret] { try? FileManager.default.removeItem(atPath: path) } }
        try Data().write(to: URL(filePath: secret))
        for (mode, path) in [(0o604, secret), (0o755, folder.path)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        try FileManager.default.createSymbolicLink(atPath: folder.path + "/wake-token.key", withDestinationPath: secret)
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.path)
        for path in [folder.path, link] {
            let exposed = DataFolder(path: path).exposures()
            #expect(exposed.count == 1)
            #expect(exposed.first?.hasPrefix("\(path)/wake-token.key can be read by every user") == true)
        }
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: secret)
        #expect(folder.exposures() == [], "the link itself has all permissions")
    }

    @Test(.enabled(if: geteuid() == 0)) func `a folder of another user is told of`() throws {
        let folder = try DataFolder.temporary()
        try #require(chown(folder.path, 54_321, 54_321) == 0)
        #expect(folder.exposures().count == 1)
        #expect(folder.exposures().first?.hasPrefix("\(folder.path) belongs to another user") == true)
    }

    @Test func `a link that another user has put there is neither followed nor left`() throws {
        let folder = try DataFolder.temporary()
        let victim = folder.path + "-victim"
        defer { try? FileManager.default.removeItem(atPath: victim) }
        try Data("kept".utf8).write(to: URL(filePath: victim))
        let probe = folder.path + "/.probe-\(ProcessInfo.processInfo.processIdentifier)"
        try FileManager.default.createSymbolicLink(atPath: probe, withDestinationPath: victim)
        try folder.prepare()
        #expect(try Data(contentsOf: URL(filePath: victim)) == Data("kept".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
    }

    @Test func `files that everybody can read are told of, in a folder that everybody can enter`() throws {
        let folder = try DataFolder.temporary()
        let path = folder.path
        func allow(_ mode: Int, _ file: String) throws {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        }
        let files = [
            ("client-token.key", 0o640), ("reveille.sqlite3", 0o644), ("wake-token.key", 0o604),
            ("reveille.yaml", 0o644),
        ]
        for (name, mode) in files {
            try Data().write(to: URL(filePath: path + "/" + name))
            try allow(mode, path + "/" + name)
        }
        try FileManager.default.createDirectory(atPath: path + "/drafts", withIntermediateDirectories: false)
        try allow(0o755, path)
        let exposed = folder.exposures().compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(exposed == ["reveille.sqlite3", "wake-token.key"].map { path + "/" + $0 })
        try allow(0o750, path)
        #expect(folder.exposures() == [])
    }
}
