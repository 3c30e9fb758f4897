import AdminProtocol
import ArgumentParser
import CallCore
import CallStore
import CallVocabulary
import ChildProcess
import Foundation
import ServerSettings
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

    @Test("a group of commands alone shows its help")
    func group() async {
        let run = await CommandRun.of("groups")
        #expect(run.exit == 0)
        #expect(run.output.joined().contains("SUBCOMMANDS"))
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

    @Test("a shell is offered the ids and names of the store that the line names")
    func ids() async throws {
        let group = CallGroup(name: "sales", strategy: .all, members: [Scenarios.handle("bob")])
        let alias = Alias(handle: Scenarios.handle("desk"), user: Scenarios.handle("bob"))
        let folder = try Scenarios.Folder(Scenarios.all + [.group(group), .alias(alias)])
        let line = ["calls", "show", "--data", folder.path, ""]
        #expect(await KnownIDs.callIDs(line).first?.hasPrefix("9eafb0c1") == true)
        #expect(await KnownIDs.callIDs(line).count == 11)
        #expect(await KnownIDs.pushIDs(line).count == 6)
        #expect(await KnownIDs.userNames(line) == ["bob"])
        #expect(await KnownIDs.groupNames(line) == ["sales"])
        #expect(await KnownIDs.aliasNames(line) == ["desk"])
        #expect(await KnownIDs.deviceIDs(line + ["bob"]).count == 2)
        #expect(await KnownIDs.callIDs(["calls", "show", "--data", folder.path + "-not-there"]).isEmpty)
    }

    @Test("and of the server that it names")
    func idsOfServer() async throws {
        let script: ScriptedServer.Script = { request in
            guard request is ListGroups else { return .silence }
            let group = CallGroup(name: "support", strategy: .all, members: [])
            return .result(AdminPage(items: [GroupView(group)]))
        }
        try await ScriptedServer.run(script) { server in
            #expect(await KnownIDs.groupNames(["groups", "show", "--server", server.socket]) == ["support"])
        }
    }

    @Test("closed sets and files are offered by every shell's script", arguments: ["bash", "zsh", "fish"])
    func sets(shell: String) throws {
        let script = Reveille.completionScript(for: CompletionShell(rawValue: shell)!)
        for word in [
            "black-hole", "stream-limit", "Unregistered", "QUOTA_EXCEEDED", "oauth", "sandbox", "fanout", "hunt",
            "notice",
            "missed_call", "android", "jsonl", "current",
        ] {
            #expect(script.contains(word), "\(word)")
        }
    }

    @Test("no help tells what a setting is set to: it names the setting")
    func settings() {
        let help = Reveille.helpMessage(for: GroupsCommand.Set.self, includeHidden: false, columns: 200)
        #expect(help.contains("calls.hunt_step_seconds"))
        #expect(!help.contains("fifteen"))
    }

    @Test("the range that the help of serve gives for a setting is the setting's")
    func ranges() throws {
        let help = Reveille.helpMessage(for: ServeCommand.self, includeHidden: false, columns: 200)
        let found = help.matches(of: /\((\d+) to (\d+);/).map { "\($0.1)...\($0.2)" }
        guard case .integer(let ring) = Setting.ringSeconds.kind else {
            Issue.record("the ring time is no number")
            return
        }
        #expect(found == ["\(ring.lowerBound)...\(ring.upperBound)"])
    }
}
