import ArgumentParser
import CallVocabulary
import Foundation
import ServerSettings
import StoreInterface

/// A command-line error: one line with the likely correction, and one that names the help.
struct Misuse {
    private static let label = "Error: "

    let lines: [String]

    /// - Parameters:
    ///   - error: that parsing or validating `arguments` ended with.
    ///   - arguments: without the program's name.
    init(_ error: any Error, _ arguments: [String]) {
        let place = Place(arguments)
        let message = Self.words(error, place)
        let words = Self.negative(message, arguments) ?? message
        // The word may be an argument of the command that is meant without a name.
        let isArgument =
            place.command.configuration.defaultSubcommand != nil && !words.contains("nexpected argument")
        let unknown = isArgument ? nil : place.unknown
        self.init(unknown.map { Self.words(unknown: $0, place) } ?? words, place, arguments)
    }

    /// The error for a word that is one letter off a subcommand, where another subcommand would take it as its argument;
    /// else nil.
    init?(nearly arguments: [String]) {
        let place = Place(arguments)
        guard place.command.configuration.defaultSubcommand != nil, let unknown = place.unknown else { return nil }
        let names = place.command.configuration.subcommands.map { $0._commandName }
        guard names.contains(where: { Nearest.distance($0, unknown.lowercased()) == 1 }) else { return nil }
        self.init(Self.words(unknown: unknown, place), place, arguments)
    }

    /// The error for `help` with an unknown command, for which the library prints the help of the program; else nil.
    init?(help arguments: [String]) {
        let place = Place(arguments)
        guard arguments.first == Place.help, let unknown = place.unknown else { return nil }
        self.init(Self.words(unknown: unknown, place), place, arguments)
    }

    private init(_ message: String, _ place: Place, _ arguments: [String]) {
        // A part of a word may be repeated too.
        let shown = Self.hidingSecrets(message, arguments)
            .replacing(
                #/[A-Za-z]+:\/\/[^\s']*:[^\s']*@[^\s']*|password=[^\s']*/#.matchingSemantics(.unicodeScalar), with: "…")
        let lines = shown.split(separator: "\n").map(String.init)
        let help = (["reveille"] + place.path + ["--help"]).joined(separator: " ")
        self.lines = [Self.label + (lines.first ?? "")] + lines.dropFirst() + ["See '\(help)'."]
    }

    /// Words below this length are hidden in quotation marks only: they may be parts of others.
    private static let shortestAnywhere = 4

    /// The library and the commands repeat words of the command line, which may have a password or be a key.
    private static func hidingSecrets(_ message: String, _ arguments: [String]) -> String {
        let words = arguments.flatMap { word -> [String] in
            // As `--option=value`.
            word.hasPrefix("-")
                ? word.unicodeScalars.split(separator: "=", maxSplits: 1).map { String($0) } : [word]
        }
        let secrets = words.filter(mayHaveSecret).flatMap { [$0, $0.shown] }.sorted { $0.utf8.count > $1.utf8.count }
        return secrets.reduce(message) { message, word in
            word.utf8.count < shortestAnywhere
                ? message.replacingBytes("'\(word)'", with: "'…'") : message.replacingBytes(word, with: "…")
        }
    }

    private static func mayHaveSecret(_ word: String) -> Bool {
        // As `bob=20s`.
        if word.wholeMatch(of: /\w+=[0-9]+[a-z]*/) != nil { return false }
        return ShownText.mayHaveSecret(word) || PostgresAddress.isAddress(word)
            || PostgresAddress.isMeant(by: word) && word.utf8.contains(UInt8(ascii: "@"))
    }

    /// The command that `arguments` call, up to the first unknown word.
    private struct Place {
        var path: [String] = []
        var command: any ParsableCommand.Type = Reveille.self
        static let help = "help"

        /// A word in the place of a subcommand that is none.
        var unknown: String?

        init(_ arguments: [String]) {
            for word in arguments.drop(while: { $0 == Self.help }) {
                let children = command.configuration.subcommands
                guard !children.isEmpty, !word.hasPrefix("-") else { return }
                guard let child = children.first(where: { $0._commandName == word }) else {
                    unknown = word
                    return
                }
                command = child
                path.append(word)
            }
        }
    }

    // MARK: Commands

    private static func words(unknown word: String, _ place: Place) -> String {
        let names = place.command.configuration.subcommands.map { $0._commandName }
        let prefix = (["reveille"] + place.path).joined(separator: " ")
        let message = "There is no command '\(prefix) \(word)'."
        if let near = Nearest.to(word, among: names) { return "\(message) Did you mean '\(prefix) \(near)'?" }
        let others = paths(Reveille.self, []).filter { $0.last == word }.prefix(mostOffered)
        if !others.isEmpty {
            return "\(message) Did you mean \(choice(others.map { "reveille " + $0.joined(separator: " ") }))?"
        }
        return place.path.isEmpty ? message : "\(message) There are \(names.joined(separator: ", "))."
    }

    private static let mostOffered = 4

    /// The paths of all commands below the first level.
    private static func paths(_ command: any ParsableCommand.Type, _ path: [String]) -> [[String]] {
        command.configuration.subcommands.flatMap { child in
            let own = path + [child._commandName]
            return (path.isEmpty ? [] : [own]) + paths(child, own)
        }
    }

    private static func choice(_ names: [String]) -> String {
        let quoted = names.map { "'\($0)'" }
        guard quoted.count > 1, let last = quoted.last else { return quoted.joined() }
        return quoted.dropLast().joined(separator: ", ") + " or " + last
    }

    // MARK: The library's words

    private static func words(_ error: any Error, _ place: Place) -> String {
        let message = Reveille.message(for: error)
        if message.hasPrefix("Missing expected argument"), let help = help(error) {
            return message.trimmingCharacters(in: .whitespacesAndNewlines) + ": " + help
        }
        // The library knows what is near to the options of a command, but not to those that each has.
        if let option = message.wholeMatch(of: #/Unknown option '(-[^']*)'\s*/#)?.output.1,
            let near = Nearest.to(String(option), among: ["--help", "--version"])
        {
            return "Unknown option '\(option)'. Did you mean '\(near)'?"
        }
        if place.path.first == "serve", let words = setting(message) { return words }
        let isBare = message.hasPrefix(invalidValue) && message.hasSuffix("'")
        guard isBare else { return corrected(message) }
        let parts: [String?] = [message, reason(message), help(error)]
        return parts.compactMap { $0 }.joined(separator: ": ")
    }

    /// Why a value is none of its option's, which the library does not say. Options that take no words have types of
    /// numbers, but for an interval.
    private static func reason(_ message: String) -> String? {
        guard let match = message.wholeMatch(of: #/The value '(.*)' is invalid for '(.*)'/#)?.output else { return nil }
        let value = String(match.1)
        if match.2.hasSuffix("<\(Threshold.valueName)>") { return Threshold.objection(to: value) }
        if match.2.hasPrefix("--interval") { return "it is no time such as 2s or 500ms" }
        let isNumber = !value.isEmpty && value.allSatisfy { "0123456789.+-".contains($0) }
        return isNumber ? "it is not whole, or out of range" : "it is no number"
    }

    /// The words for a negative number, which the library takes for an option, so that it misses the value.
    private static func negative(_ message: String, _ arguments: [String]) -> String? {
        guard let option = message.firstMatch(of: #/^Missing value for '(-[^ ']+)/#)?.output.1,
            let value = arguments.drop(while: { $0 != option }).dropFirst().first,
            value.wholeMatch(of: #/-[0-9.]+/#) != nil
        else { return nil }
        return "The value '\(value)' is invalid for '\(option)': it is negative"
    }

    /// The words for an unknown option that looks like a setting. Most settings have no option.
    private static func setting(_ message: String) -> String? {
        guard let name = message.wholeMatch(of: #/Unknown option '--([^']*)'\s*/#)?.output.1,
            let setting = NearestKey.ofSetting(String(name)).flatMap({ Setting.byKey[$0] })
        else { return nil }
        let meant = setting.flag.map { "'\($0)'?" }
        return "Unknown option '--\(name)'. Did you mean "
            + (meant
                ?? "the setting \(setting.key)? Give it in the settings file, or as \(setting.environmentName).")
    }

    private static let invalidValue = "The value '"

    /// The help text of the argument that the error is about.
    private static func help(_ error: any Error) -> String? {
        let mark = "Help:"
        let lines = Reveille.fullMessage(for: error).split(separator: "\n")
        guard let line = lines.first(where: { $0.hasPrefix(mark) }) else { return nil }
        // `<user>  The user's handle.`
        let words = line.dropFirst(mark.count).trimmingCharacters(in: .whitespaces)
        return words.firstRange(of: "  ").map { String(words[$0.upperBound...]) } ?? words
    }

    /// The message for a value outside a closed set, with the nearest allowed value, in one line.
    private static func corrected(_ message: String) -> String {
        let (middle, end) = ("' is invalid for '", "'. Please provide one of ")
        guard message.hasPrefix(invalidValue), let subject = message.firstRange(of: middle),
            let list = message.firstRange(of: end), subject.upperBound <= list.lowerBound
        else { return message }
        let value = message[..<subject.lowerBound].dropFirst(invalidValue.count)
        let option = message[subject.upperBound..<list.lowerBound]
        // As `'a', 'b' and 'c'.`, or one on a line behind a dash.
        let rest = message[list.upperBound...]
        let values = rest.matches(of: #/'([^']*)'|^ *- ([^\n]+)/#.anchorsMatchLineEndings()).compactMap {
            ($0.output.1 ?? $0.output.2).map(String.init)
        }
        let near = Nearest.to(String(value), among: values).map { " Did you mean '\($0)'?" } ?? ""
        return "'\(String(value).shown)' is no value of \(option).\(near) There are \(values.joined(separator: ", "))."
    }
}

/// The nearest of several words to a mistyped one.
enum Nearest {
    /// - Returns: nil when more than a third of the letters differ from every word.
    static func to(_ word: String, among words: [String]) -> String? {
        let typed = word.lowercased()
        let near = words.map { ($0, distance(typed, $0.lowercased())) }
            .filter { $0.1 <= max(1, max(typed.count, $0.0.count) / 3) }
            .min { $0.1 < $1.1 }
        if let near { return near.0 }
        let longer = words.filter { typed.count >= 2 && $0.lowercased().hasPrefix(typed) }
        return longer.count == 1 ? longer[0] : nil
    }

    /// The edit distance with transpositions of adjacent letters (optimal string alignment).
    static func distance(_ a: String, _ b: String) -> Int {
        let (a, b) = (Array(a), Array(b))
        var rows = [Array(0...b.count)]
        for i in a.indices {
            var row = [i + 1]
            for j in b.indices {
                var least = min(rows[i][j + 1], row[j]) + 1
                least = min(least, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { least = min(least, rows[i - 1][j - 1] + 1) }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
