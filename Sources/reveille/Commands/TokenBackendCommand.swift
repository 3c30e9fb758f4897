import ArgumentParser
import CallCore
import CallServer
import EventLoop
import Foundation

extension TokenCommand {
    struct Backend: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Create a token for a backend.",
            discussion: """
                A backend starts and follows calls, and administers the server, over HTTP below /v1/backend. The token
                is printed once: the file has only its SHA-256. A running server accepts it after SIGHUP. To revoke a
                token, delete its line and send SIGHUP.

                  reveille token backend pbx --role calls
                  reveille token backend crm --role admin --users 'support-*,alice'
                """)

        @Argument(help: "The token's name, for logs and messages.") var name: String
        @Option(help: "The role: read, calls or admin; each includes the rights of the roles before it.") var role:
            BackendToken.Role
        @Option(
            help: ArgumentHelp(
                "The users it acts for: comma-separated handles; support-* matches a prefix. Default: all users.",
                valueName: "list")) var users: String?
        @Option(help: "The file, if it is not backend-tokens in the data folder.", completion: .file()) var file:
            String?
        @OptionGroup var data: DataOptions

        func validate() throws {
            guard BackendToken.isName(name) else { throw ValidationError("'\(name)': \(BackendToken.nameRule).") }
            guard BackendToken.scope(users ?? "*") != nil else {
                throw ValidationError("--users: \(BackendToken.scopeRule).")
            }
        }

        func run() throws {
            if file == nil { try data.folder.prepare() }
            let path = file ?? "\(data.folder.path)/\(BackendToken.standardFile)"
            // Both are checked above.
            guard let scope = BackendToken.scope(users ?? "*") else { return }
            let token = BackendToken.make(name: name, role: role, scope: scope)
            do {
                try Self.append(token.line, to: path)
            } catch {
                let reason = (error as? SystemError)?.description ?? error.localizedDescription
                throw Terminal.failed("\(path) cannot be written: \(reason)")
            }
            Terminal.print(token.text)
            Terminal.complain("a running server takes the token of \(path) after SIGHUP; it is not shown again")
        }

        /// In one write, so that two commands do not mix their lines.
        private static func append(_ line: String, to path: String) throws {
            let former = FileManager.default.contents(atPath: path)
            if former == nil { try PrivateFile.write([UInt8](), to: path, isNew: true) }
            let isOpenLine = former.map { !$0.isEmpty && $0.last != UInt8(ascii: "\n") } ?? false
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            try handle.seekToEnd()
            try handle.write(contentsOf: Data(((isOpenLine ? "\n" : "") + line + "\n").utf8))
        }
    }
}

extension BackendToken.Role: ExpressibleByArgument {}
