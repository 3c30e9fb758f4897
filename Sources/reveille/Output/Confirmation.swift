import Glibc

/// Asks the person at the terminal before something that cannot be taken back.
enum Confirmation {
    /// There is somebody to ask: a script is taken at its word.
    static var canAsk: Bool { isatty(STDIN_FILENO) == 1 && Terminal.isInteractive }

    /// - Returns: whether they said yes; anything else, and the end of input, is a no.
    static func ask(_ question: String, about line: String) -> Bool {
        Terminal.complain([question, "  \(line) [y/N]"])
        guard let answer = readLine()?.lowercased() else { return false }
        return answer == "y" || answer == "yes"
    }
}
