import Foundation
import Testing

@testable import reveille

@Suite("Backups, and what restores them")
struct BackupCommandTests {
    /// A folder with a store, and one for backups.
    private static func places() throws -> (store: Scenarios.Folder, files: EmptyFolder) {
        (try Scenarios.Folder(Scenarios.answeredOnline.records), try EmptyFolder())
    }

    @Test("a backup is checked, and neither it nor a store is replaced without being asked for: 2")
    func whole() async throws {
        let (store, files) = try Self.places()
        let file = files.path + "/backup"
        let made = await CommandRun.of("backup \(file)", data: store.path)
        #expect(made.exit == 0 && made.complaints.isEmpty, "\(made)")
        let checked = await CommandRun.of("backup --verify \(file)")
        #expect(checked.exit == 0 && checked.complaints.isEmpty, "\(checked)")
        #expect(checked.output.joined().contains("balanced"))

        let again = await CommandRun.of("backup \(file)", data: store.path)
        again.expectFailure(2, lines: 1, "have this one replaced: --replace does that.")
        for own in [store.path, store.path + "/reveille.sqlite3", files.path] {
            let refused = await CommandRun.of("backup --replace \(own)", data: store.path)
            refused.expectFailure(2, lines: 1, own, "Name another file.")
            #expect(!refused.complaints.joined().contains("replaced"), "\(refused)")
        }
        let restored = await CommandRun.of("restore \(file)", data: store.path)
        restored.expectFailure(2, lines: 1, "the folder holds a store")
    }

    @Test("a store in a database is refused, by the settings or by what its server wrote down in the folder: 2")
    func database() async throws {
        let (store, files) = try Self.places()
        let (file, uri) = (files.path + "/backup", "postgres://reveille@db.example.org/reveille?sslmode=verify-full")
        let whole = await CommandRun.of("backup \(file)", data: store.path)
        #expect(whole.exit == 0, "\(whole)")
        let settings = store.path + "/reveille.yaml"
        try "store: \(uri)\n".write(toFile: settings, atomically: true, encoding: .utf8)
        for line in ["backup \(file)-2", "restore \(file) --replace"] {
            let refused = await CommandRun.of(line, data: store.path)
            refused.expectFailure(2, lines: 1, "postgres://reveille@db.example.org/reveille", "pg_dump")
        }
        try FileManager.default.removeItem(atPath: settings)
        let marker = store.path + "/store.database"
        try "postgres://reveille@db.example.org/reveille\n".write(toFile: marker, atomically: true, encoding: .utf8)
        for line in ["backup \(file)-2", "calls list", "store copy \(store.path) \(files.path)/other"] {
            let refused = await CommandRun.of(line, data: line.hasPrefix("store") ? nil : store.path)
            refused.expectFailure(2, "postgres://reveille@db.example.org/reveille")
        }
        #expect(try files.contents == ["backup"])
        let restored = await CommandRun.of("restore \(file) --replace", data: store.path)
        #expect(restored.exit == 0 && !FileManager.default.fileExists(atPath: marker), "\(restored)")
        #expect(await CommandRun.of("calls list", data: store.path).exit == 0)
    }

    @Test("a damaged backup is refused by all that reads it: 1; where there is nothing to copy or restore it is 2")
    func refused() async throws {
        let (store, files) = try Self.places()
        let (file, other) = (files.path + "/backup", files.path + "/other")
        let made = await CommandRun.of("backup \(file)", data: store.path)
        #expect(made.exit == 0, "\(made)")
        var bytes = try Data(contentsOf: URL(filePath: file))
        bytes.replaceSubrange(8192..<12288, with: Data(repeating: 0xAA, count: 4096))
        try bytes.write(to: URL(filePath: file))
        for line in ["backup --verify \(file)", "restore --check \(file)", "restore \(file) --data \(other)"] {
            let damaged = await CommandRun.of(line)
            damaged.expectFailure(1, lines: 1, "backup \(file): ", "This backup is damaged: use another.")
            #expect(!damaged.complaints.joined().contains("--salvage"), "\(damaged)")
        }
        #expect(try files.contents == ["backup"])
        for line in ["backup \(file) --data \(other)", "restore \(file)-none --data \(other)"] {
            let missing = await CommandRun.of(line)
            missing.expectFailure(2, lines: 1)
        }
        #expect(try files.contents == ["backup"])
    }
}
