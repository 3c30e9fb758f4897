import Foundation
import Testing

/// Parts of Tests/Web/run: the library in Node.js, and the library and the softphone in Chromium. `Tests/release` runs the
/// others, too.
@Suite("The browser library and the softphone")
struct BrowserTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Web").standardized.path

    @Test("pass the checks of each commit", arguments: ["types", "library", "calls", "phone"])
    func checks(part: String) async throws {
        // SEEDS: the runs of the library over random faults.
        let program = try Program(
            Self.folder + "/run", [part], environment: ["REVEILLE": Program.reveille, "SEEDS": "100"])
        do {
            let result = try await program.result(within: .seconds(400))
            #expect(result.ending == .exit(0), "\(result.output)\n\(result.errors)")
        } catch {
            // It ends its servers and browsers with it.
            _ = try? await program.end(by: SIGTERM)
            throw error
        }
    }

    @Test("have these parts, each a program of the folder")
    func all() throws {
        let programs = try FileManager.default.contentsOfDirectory(atPath: Self.folder)
            .filter { $0.hasSuffix(".mjs") && FileManager.default.isExecutableFile(atPath: Self.folder + "/" + $0) }
            .map { String($0.dropLast(4)) }.sorted()
        #expect(
            programs == [
                "board", "calls", "demo", "faults", "glare", "leaks", "looks", "network", "phone", "refusals",
                "situations", "webpush",
            ])
    }
}
