import ArgumentParser
import Foundation

struct ManualCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manual", abstract: "Write the manual pages of all commands.",
        discussion: """
            Writes into the subfolder man1. If man does not search the folder, set MANPATH.

              reveille manual ~/.local/share/man
            """)

    @Argument(help: "The folder for manual pages.", completion: .directory) var folder: String

    func run() async throws {
        try await Terminal.reporting {
            let program = try CommandDescription.ofProgram()
            let pages =
                [ManualPage(of: program)]
                + program.shownSubcommands.map { command in
                    ManualPage(
                        of: command, in: program.commandName,
                        appendices: command.commandName == LoadCommand.configuration.commandName
                            ? LoadManual.appendices : [])
                }
            let path = URL(filePath: folder).appending(path: "man1")
            do {
                try FileManager.default.createDirectory(at: path, withIntermediateDirectories: true)
                for page in pages {
                    try Data(page.text.utf8).write(to: path.appending(path: page.name + ".1"))
                }
            } catch {
                Terminal.complain("reveille: \(path.path) cannot be written: \(error.localizedDescription)")
                throw Exit.unavailable
            }
            Terminal.print(
                "\(PartyText.count(pages.count, "page")) written to \(path.path); see man \(program.commandName)")
        }
    }
}
