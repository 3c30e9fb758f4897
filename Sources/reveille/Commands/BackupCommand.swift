import ArgumentParser
import CallServer
import CallStore

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store to a file, while the server runs or not.",
        discussion: """
            The copy is of one moment, compact, and readable by its owner alone. It gets its name only once found \
            sound, schema and books of the pushes included. Calls go on meanwhile.

            Not in it are the secrets beside the store, client-token.key and wake-token.key: with them one can sign in \
            as anybody, and copies travel. Keep them apart. A server restored without them makes new ones; tokens \
            signed with the old ones are refused then. Nor is what the push simulator keeps.

            Exit code 1 when the store or backup is damaged or its books are not balanced (a copy is kept then), 2 \
            when there is nothing to copy or no way to write it.

              reveille backup /backups/monday.sqlite3
              reveille backup --verify /backups/monday.sqlite3 --output json
            """)

    @Argument(help: "The file to write.", completion: .file()) var file: String
    @Flag(
        name: [.customLong("replace"), .customLong("force")], help: "Take the place of a file of that name.")
    var replaces = false
    @Flag(help: "Write nothing: check a backup that was written before.") var verify = false
    @Flag(help: "Write what can be read of a store that is damaged or incomplete.") var salvage = false
    @Option(help: OutputFormat.help) var output = OutputFormat.table
    @OptionGroup var data: DataOptions

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("Name the file to write.") }
        guard !verify || (!replaces && !salvage) else {
            throw ValidationError("--verify writes nothing, so that --replace and --salvage have nothing to do.")
        }
    }

    func run() async throws {
        let began = ContinuousClock.now
        let contents: StoreContents
        do {
            if verify {
                contents = try StoreContents(file: file)
            } else {
                let progress = CopyProgressLine("copying")
                defer { progress.clear() }
                contents = try StoreBackup.write(
                    folder: data.folder.path, to: file, replacing: replaces, salvaging: salvage
                ) {
                    progress.show($0, of: $1)
                }
            }
        } catch {
            throw BackupText.ending(after: error, replacing: "--replace")
        }
        let text = BackupText(contents, file: file, took: ContinuousClock.now - began)
        switch output {
        case .json, .jsonl: try JSONOutput.write(["backup": text.json], isLine: output == .jsonl)
        case .table: Terminal.print(text.lines)
        }
        try text.endIfUnbalanced()
    }
}
