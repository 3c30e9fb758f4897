import ArgumentParser
import ChildProcess
import Foundation
import Testing

@testable import reveille

@Suite("The help of the commands")
struct HelpTests {
    /// A command that does something, with the words that call it.
    struct Leaf: Sendable, CustomTestStringConvertible {
        let path: [String]
        let command: any ParsableCommand.Type
        var testDescription: String { path.joined(separator: " ") }
    }

    private static func leaves(_ command: any ParsableCommand.Type, _ path: [String]) -> [Leaf] {
        let children = command.configuration.subcommands
        guard !children.isEmpty else { return [Leaf(path: path, command: command)] }
        return children.flatMap { leaves($0, path + [$0._commandName]) }
    }

    static let all = leaves(Reveille.self, [])

    private static func examples(_ command: any ParsableCommand.Type) -> [String] {
        command.configuration.discussion.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
            .filter { $0.hasPrefix("reveille ") }
    }

    /// As a shell takes a line apart, as far as the examples need it; what stands for an id becomes one.
    private static func words(_ line: String) -> [String] {
        var words: [String] = []
        var (word, isQuoted) = ("", false)
        for character in line + " " {
            switch character {
            case "\"", "'": isQuoted.toggle()
            case " " where !isQuoted:
                if !word.isEmpty { words.append(word == "ID" ? "0b9c8e4e-6f2a-4d0b-9e55-3a1f8a1c2d3e" : word) }
                word = ""
            default: word.append(character)
            }
        }
        return words
    }

    @Test("there are as many as the help of the program names")
    func walk() {
        #expect(Self.all.count > 30)
        #expect(Self.all.contains { $0.path == ["sessions", "drop"] })
    }

    @Test("each command says what it is for, and shows an example of itself that is taken", arguments: all)
    func examples(leaf: Leaf) throws {
        #expect(!leaf.command.configuration.abstract.isEmpty)
        let own = "reveille " + leaf.path.joined(separator: " ")
        let examples = Self.examples(leaf.command)
        #expect(examples.contains { $0 == own || $0.hasPrefix(own + " ") }, "\(own) has no example")
        for example in examples {
            #expect(throws: Never.self, "\(example)") {
                let command = try Reveille.parseAsRoot(
                    // Up to where the shell takes over.
                    Array(Self.words(example).dropFirst().prefix { $0 != ">" }))
                #expect(type(of: command) == leaf.command || !example.hasPrefix(own))
            }
        }
    }

    @Test("each option and argument is explained", arguments: all)
    func options(leaf: Leaf) throws {
        let help = Reveille.helpMessage(for: leaf.command, includeHidden: false, columns: 200)
        for line in help.split(separator: "\n") where line.hasPrefix("  -") || line.hasPrefix("  <") {
            // A name that fills its column has its words on the next line.
            let parts = line.dropFirst(2).split(separator: "  ", maxSplits: 1)
            #expect(parts.count == 2 || line.count > 25, "\(leaf.path): \(line)")
        }
    }

    @Test("the shells' completions are made, and bash reads its own", arguments: ["bash", "zsh", "fish"])
    func completions(shell: String) async throws {
        // The name is one of the library's.
        let script = Reveille.completionScript(for: CompletionShell(rawValue: shell)!)
        #expect(script.contains("ring_timeout"))
        #expect(script.contains("sessions"))
        #expect(script.contains("prometheus"))
        guard shell == "bash" else { return }
        let file = NSTemporaryDirectory() + "reveille-\(UUID().uuidString).bash"
        defer { try? FileManager.default.removeItem(atPath: file) }
        try Data(script.utf8).write(to: URL(filePath: file))
        let bash = try await ChildProcess.run("/bin/bash", ["-n", file])
        #expect(bash.ending == .exit(0), "\(bash.output)")
    }

    @Test("a shell is offered the ids and users of the store that the line names")
    func ids() throws {
        let folder = try Scenarios.Folder()
        let line = ["calls", "show", "--data", folder.path, ""]
        #expect(KnownIDs.callIDs(line).first?.hasPrefix("9eafb0c1") == true)
        #expect(KnownIDs.callIDs(line).count == 11)
        #expect(KnownIDs.pushIDs(line).count == 6)
        #expect(KnownIDs.userNames(line) == ["bob"])
        #expect(KnownIDs.deviceIDs(line + ["bob"]).count == 2)
        #expect(KnownIDs.callIDs(["calls", "show", "--data", folder.path + "-not-there"]).isEmpty)
    }
}
