import Glibc

/// Asks the user to confirm an action that cannot be undone.
enum Confirmation {
    /// Whether a user is at the terminal. Scripts are not asked.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && Terminal.isInteractive }

    /// - Returns: whether they said yes; anything else, and the end of input, is a no.
    static func ask(_ question: String, about line: String) -> Bool {
        Terminal.complain([question, "  \(line) [y/N]"])
        guard let answer = readLine()?.lowercased() else { return false }
        return answer == "y" || answer == "yes"
    }
}
