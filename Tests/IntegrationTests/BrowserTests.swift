import Foundation
import Testing

/// The parts of Tests/Web/run: the library in Node.js, and the library and the pages in Chromium.
@Suite("The browser library, the softphone and the board")
struct BrowserTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Web").standardized.path

    /// Each program of the folder is a part, and its other checks are two more.
    private static let parts =
        ["types", "library"]
        + ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [])
        .filter { $0.hasSuffix(".mjs") && FileManager.default.isExecutableFile(atPath: folder + "/" + $0) }
        .map { String($0.dropLast(4)) }.sorted()

    /// Two at a time, as they wait more than they compute; but for the board, whose frames are counted.
    @Test("pass their checks")
    func checks() async {
        await Self.check("board")
        await withTaskGroup(of: Void.self) { running in
            for (index, part) in Self.parts.filter({ $0 != "board" }).enumerated() {
                if index >= 2 { await running.next() }
                running.addTask { await Self.check(part) }
            }
        }
    }

    private static func check(_ part: String) async {
        do {
            let program = try Program(folder + "/run", [part], environment: ["REVEILLE": Program.reveille])
            do {
                let result = try await program.result(within: .seconds(400))
                #expect(result.ending == .exit(0), "\(part):\n\(result.output)\n\(result.errors)")
            } catch {
                // It ends its servers and browsers with it.
                _ = try? await program.end(by: SIGTERM)
                throw error
            }
        } catch {
            Issue.record(error, "\(part)")
        }
    }

    @Test("are there")
    func all() {
        let programs = [
            "board", "calls", "demo", "faults", "glare", "leaks", "looks", "network", "phone", "refusals", "situations",
            "webpush",
        ]
        #expect(Self.parts == ["types", "library"] + programs)
    }
}
