import Foundation
import LoadTest

/// Two reports of load tests side by side, for people.
enum LoadComparisonText {
    /// - Throws: the exit code, after saying what is wrong with the files.
    static func print(_ before: String, _ after: String) throws {
        let comparison: LoadComparison
        do {
            comparison = try LoadComparison(read(before), read(after))
        } catch {
            throw Terminal.unavailable(error)
        }
        Terminal.print(lines(comparison))
    }

    static func lines(_ comparison: LoadComparison) -> [String] {
        var table = Table(["FIGURE"] + ["BEFORE", "AFTER", "CHANGE"].map { Table.Column($0, isRight: true) })
        for row in comparison.rows { table.add([row.name, row.before, row.after, row.change]) }
        let doubts = comparison.doubts.flatMap { "DOUBT: \($0)".shown.wrapped(to: Console.current.width) }
        return (table.isEmpty ? ["the two have no figure in common"] : table.lines)
            + (doubts.isEmpty ? [] : [""] + doubts.map { Terminal.styled($0, .yellow) })
    }

    private static func read(_ path: String) throws -> LoadDocument {
        let data: Data
        do {
            data = try Data(contentsOf: URL(filePath: path))
        } catch {
            throw LoadError("\(path.shown) cannot be read: \(error.localizedDescription)")
        }
        guard let document = try? JSONDecoder().decode(LoadDocument.self, from: data) else {
            throw LoadError("\(path.shown) is no report of a load test; reveille load --json writes one")
        }
        return document
    }
}
