import ArgumentParser
import CallServer
import CallStore

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy the store to a file, while the server runs or not.",
        discussion: """
            The copy is a compact snapshot of one moment, readable by its owner only. It gets its final name \
            only after its schema and push ledger are checked. Calls continue during the backup.

            The copy does not include the secrets beside the store, client-token.key and wake-token.key, which allow \
            signing in as any user. Keep them in a separate place. A server restored without them creates new \
            secrets, and refuses tokens signed with the old ones. Nor does it include webpush.key, without which every \
            browser must subscribe again. The copy has no data of the push simulator.

            A store in PostgreSQL is refused: use pg_dump.

            Exit code 1: the store or the backup is damaged, or its ledger is not balanced (the copy is kept); 2: there \
            is nothing to copy, or the file cannot be written.

              reveille backup /backups/monday.sqlite3
              reveille backup --verify /backups/monday.sqlite3 --output json
            """)

    @Argument(help: "The file to write.", completion: .file()) var file: String
    @Flag(
        name: [.customLong("replace"), .customLong("force")], help: "Replace a file of that name.")
    var replaces = false
    @Flag(help: "Check an existing backup; write nothing.") var verify = false
    @Flag(help: "Copy the readable part of a damaged or incomplete store.") var salvage = false
    @Option(help: OutputFormat.help) var output = OutputFormat.table
    @OptionGroup var data: DataOptions

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("Name the file to write.") }
        guard !verify || (!replaces && !salvage) else {
            throw ValidationError("--verify writes nothing: it cannot be combined with --replace or --salvage.")
        }
    }

    func run() async throws {
        let began = ContinuousClock.now
        let contents: StoreContents
        do {
            if verify {
                contents = try StoreContents(file: file)
            } else {
                let folder = try ServerOptions.folder(data, for: "backup")
                try folder.checkStoreIsHere()
                let progress = CopyProgressLine("copying")
                defer { progress.clear() }
                contents = try StoreBackup.write(
                    folder: folder.path, to: file, replacing: replaces, salvaging: salvage
                ) {
                    progress.show($0, of: $1)
                }
            }
        } catch {
            throw BackupText.ending(after: error, replacing: "--replace", of: verify ? file : nil)
        }
        let text = BackupText(contents, file: file, took: ContinuousClock.now - began)
        try output.write(["backup": text.json], text: text.lines)
        try text.endIfUnbalanced()
    }
}
