import CallVocabulary

/// What a person types at a phone.
enum PhoneOrder: Equatable {
    /// A call to wait for, by how far it has come.
    enum Sight: String, CaseIterable {
        case incoming, ringing, answered, connected, ended
    }

    case call([Handle])
    case answer
    case decline(DeclineReason)
    case hangup
    case hold
    case resume
    case mute
    case status
    case history
    case wait(Sight, seconds: Int)
    case pause(seconds: Int)
    case help
    case quit

    static let manual = """
        call USER [USER…]   place a call
        answer              take the call that rings
        decline [busy|dnd]  turn it away
        hangup              end the call, or cancel it while it rings
        hold, resume, mute  tell the other side
        status              the calls of this phone
        history             past calls
        wait STATE [SECS]   until a call is \(Sight.allCases.map(\.rawValue).joined(separator: ", "))
        sleep SECS
        quit
        """

    /// Why a line is no order, in words for who typed it.
    struct Misunderstood: Error {
        let message: String
    }

    /// - Returns: nil for an empty line or a comment (`#`).
    static func parse(_ line: String) throws(Misunderstood) -> PhoneOrder? {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let verb = words.first, !verb.hasPrefix("#") else { return nil }
        let rest = words.dropFirst()
        switch verb.lowercased() {
        case "call": return .call(try handles(rest))
        case "answer": return .answer
        case "decline": return .decline(try declineReason(rest.first))
        case "hangup": return .hangup
        case "hold": return .hold
        case "resume": return .resume
        case "mute": return .mute
        case "status": return .status
        case "history": return .history
        case "wait": return try wait(rest)
        case "sleep": return .pause(seconds: try seconds(rest.first, standard: nil))
        case "help", "?": return .help
        case "quit", "exit": return .quit
        case let other: throw Misunderstood(message: "'\(other)' is no command; type help")
        }
    }

    private static func handles(_ words: ArraySlice<String>) throws(Misunderstood) -> [Handle] {
        guard !words.isEmpty else { throw Misunderstood(message: "call whom? call bob") }
        var handles: [Handle] = []
        for word in words {
            guard let handle = Handle(word) else { throw Misunderstood(message: "'\(word)' is no handle") }
            handles.append(handle)
        }
        return handles
    }

    private static func declineReason(_ word: String?) throws(Misunderstood) -> DeclineReason {
        guard let word else { return .declined }
        guard let reason = DeclineReason(rawValue: word) else {
            throw Misunderstood(message: "decline, decline busy or decline dnd; not '\(word)'")
        }
        return reason
    }

    private static func wait(_ words: ArraySlice<String>) throws(Misunderstood) -> PhoneOrder {
        guard let word = words.first, let sight = Sight(rawValue: word) else {
            throw Misunderstood(message: "wait for what? \(Sight.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return .wait(sight, seconds: try seconds(words.dropFirst().first, standard: 60))
    }

    private static func seconds(_ word: String?, standard: Int?) throws(Misunderstood) -> Int {
        guard let word else {
            guard let standard else { throw Misunderstood(message: "how many seconds? sleep 2") }
            return standard
        }
        guard let seconds = Int(word), (0...86_400).contains(seconds) else {
            throw Misunderstood(message: "'\(word)' is no number of seconds")
        }
        return seconds
    }
}
