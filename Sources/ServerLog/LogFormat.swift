import Glibc
import Logging

/// What lines look like.
public enum LogFormat: String, Sendable, CaseIterable {
    /// ``text`` on a terminal, ``json`` otherwise.
    case auto
    /// `2026-03-01 09:30:00.125 info     alice → bob ringing +312 ms [0c2f6a3e]`, in local time, for people.
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
        appendHead(entry.time, entry.level, entry.label, to: &bytes)
        appendMessage(entry.message, to: &bytes)
        for (key, value) in entry.metadata.sorted(by: { $0.key < $1.key }) {
            appendKey(key, to: &bytes)
            switch shape {
            case .text: TextLine.append(value, to: &bytes)
            case .json: JSONLine.append(value, to: &bytes)
            }
        }
        appendEnd(to: &bytes)
    }

    // MARK: The parts of a line, in their order

    func appendHead(_ time: LogTime, _ level: Logger.Level, _ label: String, to bytes: inout [UInt8]) {
        switch shape {
        case .text(let colour): TextLine(colour: colour).appendHead(time, level, to: &bytes)
        case .json: JSONLine.appendHead(time, level, label, to: &bytes)
        }
    }

    func appendMessage(_ message: String, to bytes: inout [UInt8]) {
        switch shape {
        case .text: LogText.appendEscaped(message, unquoted: true, to: &bytes)
        case .json: JSONLine.append(message, to: &bytes)
        }
    }

    /// What is logged under it comes next.
    func appendKey(_ key: String, to bytes: inout [UInt8]) {
        switch shape {
        case .text(let colour): TextLine(colour: colour).appendKey(key, to: &bytes)
        case .json: JSONLine.appendKey(key, to: &bytes)
        }
    }

    func appendText(_ text: String, to bytes: inout [UInt8]) {
        switch shape {
        case .text: TextLine.append(text, to: &bytes)
        case .json: JSONLine.append(text, to: &bytes)
        }
    }

    /// Before and after a text that is one plain word.
    func appendQuote(to bytes: inout [UInt8]) {
        if shape == .json { bytes.append(UInt8(ascii: "\"")) }
    }

    func appendEnd(to bytes: inout [UInt8]) {
        if shape == .json { bytes.append(UInt8(ascii: "}")) }
        bytes.append(UInt8(ascii: "\n"))
    }
}
