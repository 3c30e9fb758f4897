import Glibc

/// What lines look like.
public enum LogFormat: String, Sendable, CaseIterable {
    /// ``text`` on a terminal, ``json`` otherwise.
    case auto
    /// `2026-03-01 09:30:00.125 info     call ringing call_id=…`, in local time, for people.
    case text
    /// One object a line, for programs.
    case json
}

/// How entries become lines, for one descriptor.
struct LogLayout: Equatable, Sendable {
    enum Shape: Equatable, Sendable {
        case text(colour: Bool)
        case json
    }

    let shape: Shape

    init(_ shape: Shape) {
        self.shape = shape
    }

    /// - Parameter environment: looks a variable up.
    init(_ format: LogFormat, isTerminal: Bool, environment: (String) -> String?) {
        // https://no-color.org: set and not empty.
        let wantsColour = environment("NO_COLOR")?.isEmpty != false && environment("TERM") != "dumb"
        switch format {
        case .text: shape = .text(colour: isTerminal && wantsColour)
        case .json: shape = .json
        case .auto: shape = isTerminal ? .text(colour: wantsColour) : .json
        }
    }

    func append(_ entry: LogEntry, to bytes: inout [UInt8]) {
        switch shape {
        case .text(let colour): TextLine(colour: colour).append(entry, to: &bytes)
        case .json: JSONLine.append(entry, to: &bytes)
        }
    }
}
