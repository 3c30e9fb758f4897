import Foundation
import TestCleanup

/// A terminal of a fixed size with a shell, in tmux.
final class Tmux: Sendable {
    private static let program = "/usr/bin/tmux"
    private let socket: String

    /// - Parameter variables: for the shell, as `NAME=value`.
    private init(socket: String) { self.socket = socket }

    static func start(width: Int = 80, height: Int = 24, _ variables: String...) async throws -> Tmux {
        try FileManager.default.createDirectory(atPath: world.folder, withIntermediateDirectories: true)
        let terminal = Tmux(socket: world.folder + "/tmux.sock")
        atEnd { _ = try? await terminal.tmux("kill-server") }
        // `-u`: the terminal uses UTF-8 in any locale of the tests.
        let shell = "env -u ENV -u NO_COLOR LC_ALL=C.UTF-8 PS1='$ ' \(variables.joined(separator: " ")) sh"
        try await terminal.tmux(
            "-f", "/dev/null", "-u", "new-session", "-d", "-x", "\(width)", "-y", "\(height)", shell)
        try await terminal.shows("$")
        return terminal
    }

    /// - Returns: tmux's output.
    @discardableResult
    func tmux(_ arguments: String...) async throws -> String {
        let result = try await Program.run(Self.program, ["-S", socket] + arguments)
        guard result.ending == .exit(0) else { throw InVain(what: "tmux \(arguments)", seen: [result.errors]) }
        return result.output
    }

    func run(_ line: String) async throws {
        try await tmux("send-keys", "-l", line)
        try await tmux("send-keys", "Enter")
    }

    /// Presses keys by tmux's names: `Down`, `Enter`, `Escape`, `q`.
    func press(_ keys: String...) async throws {
        for key in keys { try await tmux("send-keys", key) }
    }

    func screen() async throws -> String { try await tmux("capture-pane", "-p") }

    /// A tmux format variable: `alternate_on`, `cursor_flag`, `pane_current_command`.
    func value(_ name: String) async throws -> String {
        try await tmux("display-message", "-p", "#{\(name)}").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @discardableResult
    func shows(_ what: String, within limit: Duration = .seconds(40), _ condition: (String) -> Bool) async throws
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

    @discardableResult
    func shows(_ texts: String...) async throws -> String {
        try await shows("\(texts)") { screen in texts.allSatisfy { screen.contains($0) } }
    }
}
