import ArgumentParser
import CallServer
import ServerSettings
import StoreInterface

struct StoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Copy a store between SQLite and PostgreSQL.", subcommands: [Copy.self])

    struct Copy: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "copy",
            abstract: "Copy the whole content of a store to an empty one.",
            discussion: """
                FROM and TO are each a data folder, whose store is SQLite, or the URI of a PostgreSQL database. No server \
                may run on either. The copy is one transaction, and is checked at its end: the number of rows of each \
                table, and the audit. A store that has records is refused and stays as it is.

                Secrets are not copied: client-token.key, wake-token.key and webpush.key. Keep the data folder with them. A \
                server that becomes the home of a realm stores them in its table kept.

                Exit code 2: a store cannot be read or written, a server runs, or TO is not empty.

                  reveille store copy /var/lib/reveille 'postgres://reveille@db.example.org/reveille?sslmode=verify-full'
                """)

        @Argument(help: "The store to read.") var from: String
        @Argument(help: "The store to fill.") var to: String
        @Option(help: "The realm of FROM, in a database.") var fromRealm = PostgresAddress.standardRealm
        @Option(help: "The realm of TO, in a database.") var toRealm = PostgresAddress.standardRealm
        @Option(help: OutputFormat.help) var output = OutputFormat.table

        func validate() throws {
            for name in [from, to] where name.isEmpty { throw ValidationError("Name both stores.") }
            for (name, argument) in [(from, "<from>"), (to, "<to>")] {
                try PostgresAddress.checkPlace(name, of: argument)
            }
            for realm in [fromRealm, toRealm] where !PostgresAddress.isRealm(realm) {
                throw ValidationError("A realm has \(PostgresAddress.realmRule).")
            }
            guard from != to || fromRealm != toRealm else { throw ValidationError("FROM and TO are the same store.") }
        }

        func run() async throws {
            let (source, target) = (try Self.place(from, fromRealm), try Self.place(to, toRealm))
            let began = ContinuousClock.now
            let counts: [String: Int]
            do {
                counts = try await source.copy(to: target)
            } catch {
                throw Terminal.unavailable(error)
            }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            let rows = counts.values.reduce(0, +)
            try output.write(
                ["copy": ["from": "\(source)", "to": "\(target)", "rows": rows, "tables": counts] as [String: Any]],
                text: [
                    "copied \(source) to \(target): \(counts["call"] ?? 0) calls, \(counts["push"] ?? 0) pushes, "
                        + "\(counts["device"] ?? 0) devices; \(rows) rows in \(Int(seconds.rounded(.up))) s"
                ])
        }

        private static func place(_ name: String, _ realm: String) throws -> StorePlace {
            guard PostgresAddress.isAddress(name) else { return .folder(DataFolder(path: name)) }
            let database = try ConfigurationOptions.surroundings.database(name, realm: realm)
            return database.map { .database($0) } ?? .folder(DataFolder(path: name))
        }
    }
}
