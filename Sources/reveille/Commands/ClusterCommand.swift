import ArgumentParser
import CallServer
import StoreInterface

struct ClusterCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cluster", abstract: "Show the servers of a realm: its home and those that stand by.",
        subcommands: [Status.self])

    struct Status: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Show the realm's home, its lease and the standbys.",
            discussion: """
                Reads the database, so that it also answers while no server runs. Exit code 0: there is a home and a \
                standby; 1: one is missing, servers have the same name, or the database may lose commits; 2: the database \
                does not answer, or has no such realm.

                  reveille cluster status --store 'postgres://reveille@db.example.org/reveille?sslmode=verify-full'
                  reveille cluster status --config /etc/reveille/reveille.yaml --output json
                """)

        @Option(help: OutputFormat.help) var output = OutputFormat.table
        @OptionGroup var realm: RealmOptions

        func run() async throws {
            let control = try realm.control()
            let status: RealmStatus
            do { status = try control.status() } catch { throw Terminal.unavailable(error) }
            try output.write(RealmText.json(status), text: RealmText.lines(status))
            guard RealmText.problems(status).isEmpty else { throw Exit.failed }
        }
    }
}
