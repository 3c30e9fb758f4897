import Foundation

/// What differs from one process to the next with the same inputs: the order of a set or dictionary, hashes, addresses,
/// random numbers of the system.
extension SourceRules {
    /// Targets whose runs are repeated from a seed.
    private static let repeatable = ["CallCore", "Determinism", "PushCore", "Simulation"]

    private static let unrepeatable = [
        "ObjectIdentifier(", ".hashValue", "Hasher(", "SystemRandomNumberGenerator", ".random()", ".randomElement()",
        ".shuffled()", ".shuffle()", "Unmanaged", "ContinuousClock", "SuspendingClock",
    ]

    /// Why no effect depends on it, by file, or by file and name.
    private static let reasons = [
        "Call": "addresses of what the call retains are compared, and have no order",
        "CallCore": "an address tells whether a record is of the same object, which lives meanwhile",
        "CallCore+Restating.notices": "sorted by id in the next line",
        "CallCore+Restating.pushes": "sorted by id in the next line",
        "Directory.users": "each user gets the same policy",
        "Inspector+Memory.lookUps": "each is judged by itself",
        "Inspector+Memory.memory.neededUntil": "counted",
        "Inspector+Memory.sessions": "each is judged by itself",
        "PayloadProfile.part": "it is no dictionary",
        "Promises.calls": "a `Table`, which has the order of insertion",
        "PushRequest": "keys of Web Push, for the bytes of a push that no machine reads",
        "TopicEvidence": "hashes of 64 bits are compared, and have no order; a seed lets no device choose them",
    ]

    /// The records of the simulated store are `Table`s, which have the order of insertion.
    private static let tables = ["disk.", "decided.", "tables."]

    /// With these in its line, an iteration has an order or needs none.
    private static let orderless = [
        ".sorted", ".contains", ".allSatisfy", ".isEmpty", ".min()", ".max()", ".reduce(0, +)", ".count {", ".count(",
    ]

    static func order(_ tree: SourceTree) -> [String] {
        var seen: Set<String> = []
        let files = tree.files.filter { file in repeatable.contains { file.path.hasPrefix("Sources/\($0)/") } }
        let found = files.flatMap { file -> [String] in
            let type = file.path.split(separator: "/").last.map { $0.dropLast(".swift".count) } ?? ""
            let names = unorderedNames(file)
            return file.lines.indices.flatMap { index -> [String] in
                let code = withoutComment(file.lines[index])
                var keys = iterated(in: code, names).sorted().map { "\(type).\($0)" }
                if unrepeatable.contains(where: { code.contains($0) }) { keys.append(String(type)) }
                seen.formUnion(keys)
                return keys.filter { reasons[$0] == nil }.map {
                    "\(file.path):\(index + 1): \($0) differs in each process; sort it, or give a reason"
                }
            }
        }
        // Only in the whole tree.
        let isWhole = repeatable.allSatisfy { name in files.contains { $0.path.hasPrefix("Sources/\(name)/") } }
        let gone = isWhole ? Set(reasons.keys).subtracting(seen).sorted() : []
        return found + gone.map { "\($0) needs no reason" }
    }

    /// The sets and dictionaries that the file declares.
    private static func unorderedNames(_ file: SourceTree.File) -> Set<String> {
        let words = [": Set<", ": [", "= Set", "= Dictionary("]
        return Set(
            file.lines.compactMap { line -> String? in
                // A regular expression for each line takes a minute in a debug build.
                guard words.contains(where: { line.contains($0) }) else { return nil }
                let declaration = /\b(?:let|var) (\w+)(?:: Set<|: \[[\w.]+: | = Set[(<]| = Dictionary\()/
                return line.firstMatch(of: declaration).map { String($0.1) }
            })
    }

    /// The sets and dictionaries whose order the code may use.
    /// - Parameter names: those that the file declares. Those of other files are found by their keys and values only.
    private static func iterated(in code: Substring, _ names: Set<String>) -> Set<String> {
        guard !orderless.contains(where: { code.contains($0) }) else { return [] }
        var found: Set<String> = []
        if code.contains(".keys") || code.contains(".values") {
            let places = code.matches(of: /((?:\w+\.)*?\w+)\.(?:keys|values)(?!\w)/).map { String($0.1) }
            found.formUnion(places.filter { place in !tables.contains { place.hasPrefix($0) } })
        }
        let named = names.filter { code.contains($0) && !code.contains("\($0) = \($0).filter") }
        let words = [" in ", "Array(", ".map", "Map", ".filter", "irst", ".reduce", ".forEach", ".prefix", ".lazy"]
        guard !named.isEmpty, words.contains(where: { code.contains($0) }) else { return found }
        // No `\b` beside a full stop: between letters that is no boundary of words.
        var used = code.matches(of: /\bin ((?:\w+\.)*\w+)(?: \{| where |$)/).map { String($0.1) }
        used += code.matches(of: /\bArray\((\w+)\)/).map { String($0.1) }
        let use = /(?:^|[^.\w])((?:\w+\.)*?\w+)\.(?:\w*[mM]ap|filter|\w*[fF]irst|reduce|forEach|prefix|lazy)(?!\w)/
        used += code.matches(of: use).map { String($0.1) }
        return found.union(named.intersection(used))
    }
}
