import AdminKit
import AdminProtocol
import ArgumentParser
import CallCore
import CallServer
import EventLoop
import Foundation
import Glibc
import ServerSettings
import StoreInterface

extension TokenCommand {
    struct Backend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create or revoke a token for a backend.",
            discussion: """
                A backend starts and follows calls, and administers the server, over HTTP below /v1/backend. The token
                is printed once: only its SHA-256 is stored.

                In a realm (--store, or store in the configuration) the token is the realm's: its servers take it at once,
                also after a hand-over. Otherwise it is a line of a file, which a running server reads on SIGHUP.

                  reveille token backend pbx --role calls
                  reveille token backend crm --role admin --users 'support-*,alice'
                  reveille token backend pbx --revoke
                """)

        @Argument(help: "The token's name, for logs and messages.") var name: String
        @Option(help: "The role: read, calls or admin; each includes the rights of the roles before it.") var role:
            BackendToken.Role?
        @Option(
            help: ArgumentHelp(
                "The users it acts for: comma-separated handles; support-* matches a prefix. Default: all users.",
                valueName: "list")) var users: String?
        @Option(
            help: ArgumentHelp(
                "Write a line of this file, also in a realm.",
                discussion:
                    "Default: backend.tokens_file of the configuration, else backend-tokens in the data folder."),
            completion: .file()) var file: String?
        @Flag(help: "Revoke all tokens of this name instead.") var revoke = false
        @OptionGroup var realm: RealmOptions

        func validate() throws {
            guard BackendToken.isName(name) else { throw ValidationError("'\(name)': \(BackendToken.nameRule).") }
            guard BackendToken.scope(users ?? "*") != nil else {
                throw ValidationError("--users: \(BackendToken.scopeRule).")
            }
            guard !revoke || (role == nil && users == nil) else {
                throw ValidationError("--revoke takes away all tokens of the name: leave out --role and --users.")
            }
            guard revoke || role != nil else {
                throw ValidationError("--role is missing: one of \(BackendToken.Role.names).")
            }
        }

        func run() async throws {
            let loaded = try realm.settings()
            if file == nil, let database = try RealmOptions.database(of: loaded) {
                do { try change(database) } catch let failure as StoreFailure { throw Terminal.unavailable(failure) }
            } else {
                try await changeFile(loaded.settings)
            }
        }

        /// The line for the store, and the text for the backend; nil to revoke.
        private var made: (line: String, text: String)? {
            // Both are checked above.
            guard let role, let scope = BackendToken.scope(users ?? "*") else { return nil }
            return BackendToken.make(name: name, role: role, scope: scope)
        }

        // MARK: A realm

        private func change(_ database: PostgresAddress) throws {
            let control = RealmControl(database)
            let seconds = BackendToken.sharedWithin.components.seconds
            if let made {
                try control.add(backendToken: made.line)
                Terminal.print(made.text)
                return Terminal.complain(
                    "the realm \(database.realm) has the token: its home takes it within \(seconds) s, and each home after "
                        + "it; it is not shown again")
            }
            let count = try control.revokeBackendTokens(named: name)
            guard count > 0 else {
                throw Terminal.failed(
                    "the realm \(database.realm) has no token of the name \(name); one in a file goes with --file")
            }
            Terminal.complain(
                "revoked \(count) of the realm \(database.realm): its home refuses it within \(seconds) s")
        }

        // MARK: A file

        private func changeFile(_ settings: EffectiveSettings) async throws {
            let folder = settings.text(.data).map { DataFolder(path: $0) } ?? realm.configuration.data.folder
            if file == nil { try await refuseRealm(on: folder) }
            if file == nil, !settings.isSet(.backendTokensFile) { try folder.prepare() }
            let path =
                file ?? settings.text(.backendTokensFile) ?? "\(folder.path)/\(BackendToken.standardFile)"
            let token = made
            var count = 1
            do {
                if let token {
                    try Self.append(token.line, to: path)
                } else {
                    count = try Self.remove(name, from: path)
                }
            } catch {
                let failure = error as? SystemError
                guard failure?.errno != ELOOP else {
                    throw Terminal.failed("\(path) is a link; name the file that it leads to with --file")
                }
                let reason = failure?.description ?? error.localizedDescription
                throw Terminal.failed("\(path) cannot be written: \(reason)")
            }
            guard count > 0 else { throw Terminal.failed("\(path) has no token of the name \(name)") }
            guard let token else {
                return Terminal.complain("revoked \(count) of \(path); a running server refuses it after SIGHUP")
            }
            Terminal.print(token.text)
            Terminal.complain("a running server takes the token of \(path) after SIGHUP; it is not shown again")
        }

        /// A line in the folder of a realm's server would count on this node alone, and no setting names the database.
        private func refuseRealm(on folder: DataFolder) async throws {
            guard let client = try? AdminAddress.folder(folder).connect(patience: .seconds(2)) else { return }
            let isOfRealm: Bool
            do throws(AdminFailure) {
                isOfRealm = try await client.perform(GetServerInfo()).realm != nil
            } catch {
                // One that stands by answers, but not to administrators.
                isOfRealm = if case .unreachable = error { true } else { false }
            }
            await client.close()
            guard isOfRealm else { return }
            throw Terminal.failed(
                "nothing was changed: the server on \(folder.path) is of a realm, and a token in its folder would be of no "
                    + "use after a hand-over; name the realm's database with --store or --config")
        }

        /// Opens a file for writing, but no link: by one in a service's folder, root would write to any file.
        private static func open(_ path: String) throws(SystemError) -> FileHandle {
            let descriptor = Glibc.open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC)
            guard descriptor >= 0 else { throw SystemError(operation: "open \(path)", errno: errno) }
            return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        }

        /// In one write, so that two commands do not mix their lines.
        private static func append(_ line: String, to path: String) throws {
            let former = try PrivateFile.read(path)
            if former == nil { try PrivateFile.write([UInt8](), to: path, isNew: true) }
            let isOpenLine = former.map { !$0.isEmpty && $0.last != UInt8(ascii: "\n") } ?? false
            let handle = try open(path)
            defer { try? handle.close() }
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(((isOpenLine ? "\n" : "") + line + "\n").utf8))
            try handle.synchronize()
        }

        /// In place: the file keeps its owner and its rights.
        /// - Returns: the number of lines that were removed.
        private static func remove(_ name: String, from path: String) throws -> Int {
            let former = try PrivateFile.read(path) ?? []
            let rest = BackendToken.without(name, String(decoding: former, as: UTF8.self))
            guard rest.count > 0 else { return 0 }
            let text = Data(rest.text.utf8)
            let handle = try open(path)
            defer { try? handle.close() }
            try handle.write(contentsOf: text)
            try handle.truncate(atOffset: UInt64(text.count))
            try handle.synchronize()
            return rest.count
        }
    }
}

extension BackendToken.Role: ExpressibleByArgument {}
