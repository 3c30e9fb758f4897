import ArgumentParser
import Benchmarks
import Foundation

/// Where a result goes.
struct ResultOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the result as JSON to this file; with - to standard output, and what is for people to standard error.",
            valueName: "file"))
    var json: String?

    var file: ResultFile? { json.map { ResultFile(path: $0) } }

    func validate() throws {
        do {
            // Known before the minutes that it takes to have a result.
            try file?.check()
        } catch {
            throw ValidationError("--json: \(error); name a file in a folder that is there and can be written to.")
        }
    }

    /// Prints what is for people.
    /// - Throws: ``BenchmarkError`` when standard output takes it no more.
    func tell(_ text: String) throws {
        if file?.isStandardOutput == true {
            FileHandle.standardError.write(Data("\(text)\n".utf8))
        } else {
            try ResultFile.print(text)
        }
    }
}
