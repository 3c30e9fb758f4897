import ArgumentParser
import CallServer
import CallStore
import Foundation

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Put a backup in place of the store.",
        discussion: """
            The file is checked first. No server may run on the data folder. A store that is there is replaced only \
            with --replace, and kept beside the new one under a dated name. A crash leaves the old store or the new \
            one.

            At its next start the server goes on from the moment of the backup: calls that were live then end with the \
            reason of whatever fell due meanwhile, pushes that were on their way become unknown and are never sent \
            again; calls made since then are not known. An older store is brought up to date, one of a later version \
            refused.

            The secrets of the folder, client-token.key and wake-token.key, stay as they are.

            Exit code 1 when the backup is damaged or its books are not balanced (it is restored all the same), 2 when \
            it cannot be read, a server runs, or a store is in the way.

              reveille restore /backups/monday.sqlite3 --replace
              reveille restore /backups/monday.sqlite3 --check
            """)

    @Argument(help: "The backup.", completion: .file()) var file: String
    @Flag(help: "Take the place of the store that is there, and keep that one under another name.") var replace = false
    @Flag(help: "Change nothing: check the backup.") var check = false
    @Option(help: OutputFormat.help) var output = OutputFormat.table
    @OptionGroup var data: DataOptions

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("Name the backup.") }
        guard !check || !replace else {
            throw ValidationError("--check changes nothing, so that --replace has nothing to do.")
        }
    }

    func run() async throws {
        let began = ContinuousClock.now
        let folder = data.folder.path
        var kept: [String] = []
        var replaced: String?
        let contents: StoreContents
        do {
            if check {
                contents = try StoreContents(file: file)
            } else {
                let progress = CopyProgressLine("restoring")
                defer { progress.clear() }
                let restored = try StoreBackup.restore(
                    file, into: folder, replacing: replace, now: Int(Date().timeIntervalSince1970)
                ) { progress.show($0, of: $1) }
                (contents, kept, replaced) = (restored.contents, restored.kept, restored.replaced)
            }
        } catch {
            throw BackupText.ending(after: error, replacing: "--replace")
        }
        let text = BackupText(contents, file: file, took: ContinuousClock.now - began)
        switch output {
        case .json, .jsonl:
            var json = text.json
            if !check { json["data"] = folder }
            if !kept.isEmpty { json["kept"] = kept }
            if let replaced { json["replaced"] = replaced }
            try JSONOutput.write([check ? "backup" : "restore": json], isLine: output == .jsonl)
        case .table:
            Terminal.print(text.lines)
            if !check { Terminal.print("restored into \(folder); start the server") }
            for file in kept { Terminal.print("kept of the store that was there: \(file)") }
        }
        try text.endIfUnbalanced()
    }
}
