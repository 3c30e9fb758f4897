import ArgumentParser
import CallServer
import CallStore
import Foundation

struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore",
        abstract: "Restore the store from a backup.",
        discussion: """
            The backup is checked first. No server may run on the data folder. An existing store is replaced only with \
            --replace, and kept beside the new one under a dated name. After a crash \
            the folder has either the old store or the new one.

            At its next start the server continues from the moment of the backup. Calls that were live end with the \
            reason of the timer that expired meanwhile. Pushes that were in flight become unknown and are never sent \
            again. Later calls are lost. The server migrates an older store, and refuses one of a later version.

            The secrets of the folder, client-token.key, wake-token.key and webpush.key, stay as they are.

            Exit code 1: the backup is damaged, or its ledger is not balanced (it is restored nevertheless); 2: it \
            cannot be read, a server runs, or a store exists.

              reveille restore /backups/monday.sqlite3 --replace
              reveille restore /backups/monday.sqlite3 --check
            """)

    @Argument(help: "The backup.", completion: .file()) var file: String
    @Flag(help: "Replace an existing store, and keep it under another name.") var replace = false
    @Flag(help: "Check the backup; change nothing.") var check = false
    @Option(help: OutputFormat.help) var output = OutputFormat.table
    @OptionGroup var data: DataOptions

    func validate() throws {
        guard !file.isEmpty else { throw ValidationError("Name the backup.") }
        guard !check || !replace else {
            throw ValidationError("--check changes nothing: it cannot be combined with --replace.")
        }
    }

    func run() async throws {
        let began = ContinuousClock.now
        let folder = check ? data.folder : try ServerOptions.folder(data, for: "restore")
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
                    file, into: folder.path, replacing: replace, now: Int(Date().timeIntervalSince1970)
                ) { progress.show($0, of: $1) }
                (contents, kept, replaced) = (restored.contents, restored.kept, restored.replaced)
                folder.forgetDatabase()
            }
        } catch {
            throw BackupText.ending(after: error, replacing: "--replace", of: file)
        }
        let text = BackupText(contents, file: file, took: ContinuousClock.now - began)
        var json = text.json
        if !check { json["data"] = folder.path }
        if !kept.isEmpty { json["kept"] = kept }
        if let replaced { json["replaced"] = replaced }
        var lines = text.lines
        if !check { lines.append("restored into \(folder.path); start the server") }
        lines += kept.map { "kept of the store that was there: \($0)" }
        try output.write([check ? "backup" : "restore": json], text: lines)
        try text.endIfUnbalanced()
    }
}
