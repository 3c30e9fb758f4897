import Foundation

/// A terminal of a fixed size with a shell in it, by tmux: what is typed goes in, what is to be seen comes out.
final class Tmux: Sendable {
    private static let program = "/usr/bin/tmux"
    private let socket: String

    /// - Parameter variables: for the shell, as `NAME=value`.
    private init(socket: String) { self.socket = socket }

    static func start(width: Int = 80, height: Int = 24, _ variables: String...) async throws -> Tmux {
        try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
        let terminal = Tmux(socket: world.folder + "/tmux.sock")
        world.atEnd { _ = try? await terminal.tmux("kill-server") }
        // `-u`: the terminal is of UTF-8 whatever the tests' own locale is.
        let shell = "env -u ENV -u NO_COLOR LC_ALL=C.UTF-8 PS1='$ ' \(variables.joined(separator: " ")) sh"
        try await terminal.tmux(
            "-f", "/dev/null", "-u", "new-session", "-d", "-x", "\(width)", "-y", "\(height)", shell)
        try await terminal.shows("$")
        return terminal
    }

    /// - Returns: what tmux has to say.
    @discardableResult
    func tmux(_ arguments: String...) async throws -> String {
        let result = try await Program.run(Self.program, ["-S", socket] + arguments)
        guard result.ending == .exit(0) else { throw InVain(what: "tmux \(arguments)", seen: [result.errors]) }
        return result.output
    }

    /// Types a line into the shell.
    func run(_ line: String) async throws {
        try await tmux("send-keys", "-l", line)
        try await tmux("send-keys", "Enter")
    }

    /// Presses keys by tmux's names: `Down`, `Enter`, `Escape`, `q`.
    func press(_ keys: String...) async throws {
        for key in keys { try await tmux("send-keys", key) }
    }

    /// What is to be seen now.
    func screen() async throws -> String { try await tmux("capture-pane", "-p") }

    /// Of tmux's own knowledge: `alternate_on`, `cursor_flag`, `pane_current_command`.
    func value(_ name: String) async throws -> String {
        try await tmux("display-message", "-p", "#{\(name)}").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Waits until the screen is as `condition` wants it.
    @discardableResult
    func shows(_ what: String, within limit: Duration = .seconds(20), _ condition: (String) -> Bool) async throws
        -> String
    {
        var last = ""
        do {
            return try await eventually(what, within: limit) {
                last = try await screen()
                return condition(last) ? last : nil
            }
        } catch {
            throw InVain(what: what, seen: [last])
        }
    }

    /// Waits until all of `texts` are on the screen.
    @discardableResult
    func shows(_ texts: String...) async throws -> String {
        try await shows("\(texts)") { screen in texts.allSatisfy { screen.contains($0) } }
    }
}
