import ArgumentParser
import Foundation
import LoadTest

/// Where a report is written besides the terminal.
struct LoadFiles: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the report to this file as JSON; with - to standard output, and the report for people to standard error.",
            valueName: "file"), completion: .file())
    var json: String?
    @Option(
        help: ArgumentHelp("Write it as a page with plots, which needs nothing else to be read.", valueName: "file"),
        completion: .file())
    var html: String?

    /// What stands for standard output.
    private static let standardOutput = "-"

    /// Whether standard output is taken, so that what is for people goes beside it.
    var takesStandardOutput: Bool { json == Self.standardOutput }

    /// Known before the run rather than after it.
    func check() throws {
        guard html != Self.standardOutput else {
            throw ValidationError("--html writes no page to standard output: name a file.")
        }
        for (option, file) in [("json", takesStandardOutput ? nil : json), ("html", html)] {
            if let file { try Self.check(option, file) }
        }
        guard json == nil || json != html else {
            throw ValidationError("--json and --html name the same file: give each its own.")
        }
    }

    func write(_ record: LoadRecord) throws {
        if takesStandardOutput {
            // It ends with a line feed of its own.
            Terminal.print(String(decoding: try LoadDocument(record).json().dropLast(), as: UTF8.self))
        } else if let json {
            try Self.write(LoadDocument(record).json(), to: json)
        }
        if let html { try Self.write(Data(LoadPage(record).html.utf8), to: html) }
    }

    private static func check(_ option: String, _ file: String) throws {
        var isFolder: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: file, isDirectory: &isFolder)
        guard !file.isEmpty, !isFolder.boolValue else {
            throw ValidationError("--\(option): '\(file.shown)' is no file; name the file to write.")
        }
        // Permissions do not say it all: the file system may be one that nobody can write to.
        let descriptor = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ValidationError(
                "--\(option): \(file.shown) cannot be written (\(reason)); name a file in a folder that is there and can "
                    + "be written to.")
        }
        close(descriptor)
        if !exists { unlink(file) }
    }

    private static func write(_ data: Data, to file: String) throws {
        do {
            try data.write(to: URL(filePath: file))
        } catch {
            throw LoadFileFailure(description: "\(file.shown) cannot be written: \(error.localizedDescription)")
        }
    }
}

/// A report that could not be kept.
struct LoadFileFailure: Error, CustomStringConvertible {
    let description: String
}
