import ChildProcess
import Foundation
import Testing

@testable import reveille

@Suite("The manual pages")
struct ManualTests {
    @Test("there is a page for each command, and man shows it without a complaint")
    func pages() async throws {
        let folder = NSTemporaryDirectory() + "manual-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let run = await CommandRun.of(["manual", folder])
        #expect(run.exit == 0, "\(run.complaints)")
        let pages = try FileManager.default.contentsOfDirectory(atPath: folder + "/man1").sorted()
        #expect(Set(pages).isSuperset(of: ["reveille.1", "reveille-calls.1", "reveille-drain.1", "reveille-check.1"]))
        for command in Set(HelpTests.all.compactMap(\.path.first)) { #expect(pages.contains("reveille-\(command).1")) }
        for page in pages {
            let man = try await ChildProcess.run(
                "/usr/bin/man", ["--warnings", "-l", "\(folder)/man1/\(page)"],
                environment: ["MANWIDTH": "100", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"], areErrorsApart: true)
            #expect(man.ending == .exit(0))
            #expect(man.errors.isEmpty, "\(page): \(man.errors)")
            #expect(man.output.contains("EXIT STATUS"), "\(page)")
        }
    }

    @Test("what stands in by two spaces stays as it is, and what would be a request is none")
    func text() {
        let command = CommandDescription(
            commandName: "sing", abstract: "Sing -- a song.",
            discussion: ".first\n'second\n\n  reveille sing --loud\n\nend \\",
            shouldDisplay: true)
        let text = ManualPage(of: command, in: "reveille").text
        #expect(text.contains("\n.PP\n.nf\n  reveille sing \\-\\-loud\n.fi\n.PP\nend"))
        #expect(text.contains("reveille\\-sing \\- Sing \\-\\- a song."))
        #expect(text.contains("\n\\&.first\n\\&'second\n"))
        #expect(text.contains("\n.nf\n  reveille sing \\-\\-loud\n.fi\n"))
        #expect(text.contains("\nend \\e\n"))
    }

    @Test("each page keeps the lines of its help that stand in or have columns", .timeLimit(.minutes(5)))
    func columns() async throws {
        let folder = NSTemporaryDirectory() + "manual-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        #expect(await CommandRun.of(["manual", folder]).exit == 0)
        let program = try CommandDescription.ofProgram()
        for (page, command) in [("reveille", program)]
            + program.shownSubcommands.map({ ("reveille-\($0.commandName)", $0) })
        {
            let man = try await ChildProcess.run(
                "/usr/bin/man", ["-l", "\(folder)/man1/\(page).1"],
                environment: ["MANWIDTH": "160", "LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"], areErrorsApart: true)
            // Plain spaces, whatever the dashes are.
            let shown = man.output.replacing("‐", with: "-").replacing("−", with: "-")
            for line in (command.discussion ?? "").split(separator: "\n") where line.contains("  ") {
                #expect(shown.contains(line.trimmingCharacters(in: .whitespaces)), "\(page): \(line)")
            }
        }
    }
}
