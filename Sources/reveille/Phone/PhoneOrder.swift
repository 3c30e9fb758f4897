import CallVocabulary

/// What a person types at a phone.
enum PhoneOrder: Equatable {
    /// A call to wait for, by how far it has come.
    enum Sight: String, CaseIterable {
        case incoming, ringing, answered, connected, ended
    }

    case call(CallTarget, video: Bool)
    case answer
    case decline(DeclineReason)
    case hangup
    case hold
    case resume
    case mute(Bool)
    case info(String)
    case background
    case foreground
    case status
    case history
    case get(CallID?)
    case missed
    case clearMissed
    case wait(Sight, seconds: Int)
    case pause(seconds: Int)
    case help
    case quit

    static let manual = """
        call USER           place a call; also call bob,carol (both ring), call group:support, call video bob
        answer              take the call that rings
        decline [busy|dnd]  turn it away
        hangup              end the call, or cancel it while it rings
        hold, resume        tell the other side
        mute, unmute        tell the other side
        info TEXT           send the other side a text
        background          the app is out of sight: calls come by push as well, with --asleep by push alone
        foreground          the app is in front again
        status              the calls of this phone
        history             past calls
        get [CALL]          the server's word on a call, by its id
        missed [clear]      missed calls
        wait STATE [SECS]   until a call is \(Sight.allCases.map(\.rawValue).joined(separator: ", "))
        sleep SECS
        quit
        """

    /// The error of a line that is no command.
    struct Misunderstood: Error {
        let message: String
    }

    /// - Returns: nil for an empty line or a comment (`#`).
    static func parse(_ line: String) throws(Misunderstood) -> PhoneOrder? {
        let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
        guard let verb = words.first, !verb.hasPrefix("#") else { return nil }
        let rest = words.dropFirst()
        switch verb.lowercased() {
        case "call": return try call(rest)
        case "answer": return .answer
        case "decline": return .decline(try declineReason(rest.first))
        case "hangup": return .hangup
        case "hold": return .hold
        case "resume": return .resume
        case "mute": return .mute(true)
        case "unmute": return .mute(false)
        case "info": return .info(try text(rest))
        case "background": return .background
        case "foreground": return .foreground
        case "status": return .status
        case "history": return .history
        case "get": return .get(try rest.first.map(callID))
        case "missed": return rest.first == "clear" ? .clearMissed : .missed
        case "wait": return try wait(rest)
        case "sleep": return .pause(seconds: try seconds(rest.first, standard: nil))
        case "help", "?": return .help
        case "quit", "exit": return .quit
        case let other: throw Misunderstood(message: "'\(other)' is no command; type help")
        }
    }

    private static func call(_ words: ArraySlice<String>) throws(Misunderstood) -> PhoneOrder {
        // `call video` alone calls the user of that name.
        let isVideo = words.first == "video" && words.count > 1
        let names = words.dropFirst(isVideo ? 1 : 0).flatMap { $0.split(separator: ",").map(String.init) }
        guard let first = names.first else {
            throw Misunderstood(message: "call whom? call bob, call bob,carol or call group:support")
        }
        if let group = group(first) {
            guard names.count == 1, !group.isEmpty else {
                throw Misunderstood(message: "a group is called alone: call group:support")
            }
            return .call(.group(group), video: isVideo)
        }
        var handles: [Handle] = []
        for name in names {
            guard group(name) == nil, let handle = Handle(name) else {
                throw Misunderstood(message: "'\(name)' is no handle")
            }
            handles.append(handle)
        }
        return .call(handles.count == 1 ? .user(handles[0]) : .users(handles), video: isVideo)
    }

    private static func group(_ name: String) -> String? {
        let prefix = "group:"
        return name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : nil
    }

    private static func callID(_ word: String) throws(Misunderstood) -> CallID {
        guard let call = CallID(word) else { throw Misunderstood(message: "'\(word)' is no id of a call") }
        return call
    }

    private static func text(_ words: ArraySlice<String>) throws(Misunderstood) -> String {
        guard !words.isEmpty else { throw Misunderstood(message: "what? info call me later") }
        return words.joined(separator: " ")
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
