import ArgumentParser
import Foundation
import Testing

@testable import reveille

/// The README and the articles against what the commands take and print.
@Suite("What the documents show of the commands")
struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private static func lines(_ path: String) throws -> [String] {
        try String(contentsOf: root.appending(path: path), encoding: .utf8).components(separatedBy: "\n")
    }

    @Test("the story of a call is the one that comes out")
    func story() async throws {
        let readme = try Self.lines("README.md")
        let begin = try #require(readme.firstIndex(of: "$ reveille calls show 4f60718a"))
        // Up to where it says that more follows.
        let shown = readme[(begin + 1)...].prefix { $0 != "```" && $0 != "…" }
        let folder = try Scenarios.Folder()
        let run = await CommandRun.of("calls show 4f60718a", data: folder.path, width: 120)
        #expect(shown.count > 15)
        #expect(Array(shown) == Array(run.output.prefix(shown.count)))
    }

    @Test("the unit of systemd writes no core file: the memory has keys and tokens")
    func unit() throws {
        #expect(try Self.lines("Resources/systemd/reveille.service").contains("LimitCORE=0"))
    }

    @Test("the beginning of top is the one that the tests of screens have")
    func top() throws {
        let readme = try Self.lines("README.md")
        let begin = try #require(readme.firstIndex { $0.hasSuffix("`reveille top` begins with:") })
        let shown = readme[(begin + 3)...].prefix { $0 != "```" }
        let screen = try Self.lines("Tests/WatchTests/Screens/top-80x24.txt")
        #expect(shown.count > 4 && Array(shown) == Array(screen[1...].prefix(shown.count)))
    }

    @Test("the frames of the README are JSON but for what is left out, and each of their members is the protocol's")
    func frames() throws {
        let document = try Self.lines("Resources/reveille.asyncapi.json").joined()
        var frames: [String] = []
        for line in try Self.lines("README.md") {
            if line.hasPrefix("S  {") || line.hasPrefix("C  {") {
                frames.append(String(line.dropFirst(3)))
            } else if line.hasPrefix("      \""), !frames.isEmpty {
                frames[frames.count - 1] += line
            }
        }
        #expect(frames.count > 5)
        for frame in frames {
            let whole = frame.replacing("{…}", with: "{}").replacing(",…", with: "")
            #expect(throws: Never.self, "\(frame)") { try JSONSerialization.jsonObject(with: Data(whole.utf8)) }
            for name in frame.matches(of: #/"([a-z0-9_]+)":/#).map(\.output.1) {
                #expect(document.contains("\"\(name)\""), "\(name) in \(frame)")
            }
            for method in frame.matches(of: #/"method":"([^"]+)"/#).map(\.output.1) {
                #expect(document.contains("\"\(method)\""), "\(method)")
            }
        }
    }

    /// README and articles by their paths.
    private static func documents() throws -> [String] {
        let sources = try #require(FileManager.default.enumerator(atPath: root.appending(path: "Sources").path))
        return ["README.md"]
            + sources.compactMap { $0 as? String }.filter { $0.hasSuffix(".md") }.map { "Sources/" + $0 }
    }

    @Test("each command line in a block for a shell is taken")
    func commands() throws {
        var count = 0
        for document in try Self.documents() {
            var isShell = false
            for line in try Self.lines(document) {
                if line.hasPrefix("```") {
                    isShell = line == "```sh"
                    continue
                }
                guard isShell, line.hasPrefix("reveille "), !line.contains("--generate-completion-script") else {
                    continue
                }
                let words = line.split(separator: " ").dropFirst().map(String.init)
                    .prefix { !["#", ">", "&&", "|", "&"].contains($0) }
                    .map { $0 == "CALL-ID" ? "0b9c8e4e" : $0 }
                #expect(throws: Never.self, "\(document): \(line)") { try Reveille.parseAsRoot(Array(words)) }
                count += 1
            }
        }
        #expect(count > 30)
    }

    @Test("the README is short, and what README and articles link to is there")
    func links() throws {
        #expect(try Self.lines("README.md").joined(separator: "\n").utf8.count <= 10_000)
        var count = 0
        for document in try Self.documents() {
            let file = Self.root.appending(path: document)
            for link in try Self.lines(document).joined(separator: "\n").matches(of: /\]\(([^)#]+)/) {
                guard !link.output.1.hasPrefix("http") else { continue }
                let target = file.deletingLastPathComponent().appending(path: String(link.output.1)).standardized
                #expect(FileManager.default.fileExists(atPath: target.path), "\(document): \(link.output.1)")
                count += 1
            }
        }
        #expect(count > 30)
    }
}
