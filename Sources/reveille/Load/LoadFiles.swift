import ArgumentParser
import Foundation
import Glibc
import LoadTest

/// Where a report is written besides the terminal.
struct LoadFiles: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Write the report to this file as JSON; with - to standard output, and the report for people to standard "
                + "error.",
            valueName: "file"), completion: .file())
    var json: String?
    @Option(
        help: ArgumentHelp("Write the report as one HTML page with charts.", valueName: "file"),
        completion: .file())
    var html: String?
    @Flag(help: "Print every figure with its definition, and the push ledger.") var figures = false

    /// What stands for standard output.
    private static let standardOutput = "-"

    /// Whether standard output is taken, so that what is for people goes beside it.
    var takesStandardOutput: Bool { json == Self.standardOutput }

    /// Known before the run rather than after it.
    func check() throws {
        guard html != Self.standardOutput else {
            throw ValidationError("--html writes no page to standard output: name a file.")
        }
        var files: [ReportFile] = []
        defer { for file in files { file.close() } }
        for (option, path) in [("json", takesStandardOutput ? nil : json), ("html", html)] {
            if let path { files.append(try ReportFile(option, path)) }
        }
        // However each is spelled.
        guard files.count < 2 || !files[0].isSame(as: files[1]) else {
            throw ValidationError("--json and --html name the same file: give each its own.")
        }
    }

    func write(_ record: LoadRecord) throws {
        if takesStandardOutput {
            // It ends with a line feed of its own.
            JSONOutput.write(try LoadDocument(record).json().dropLast())
        } else if let json {
            try Self.write(LoadDocument(record).json(), to: json)
        }
        if let html { try Self.write(Data(LoadPage(record).html.utf8), to: html) }
    }

    private static func write(_ data: Data, to file: String) throws {
        do {
            try data.write(to: URL(filePath: file))
        } catch {
            throw LoadError("\(file.shown) cannot be written: \(error.localizedDescription)")
        }
    }
}

/// A file that a report is to be written to, opened to see whether it can be.
private struct ReportFile {
    /// Without links.
    private let path: String
    private let descriptor: Int32
    private let wasThere: Bool

    /// - Throws: `ValidationError` where nothing can be written to it.
    init(_ option: String, _ path: String) throws {
        var isFolder: ObjCBool = false
        wasThere = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        guard !path.isEmpty, !isFolder.boolValue else {
            throw ValidationError("--\(option): '\(path.shown)' is no file; name the file to write.")
        }
        // Permissions do not say it all: the file system may be one that nobody can write to.
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o666)
        guard descriptor >= 0 else {
            let reason = String(cString: strerror(errno))
            throw ValidationError(
                "--\(option): \(path.shown) cannot be written (\(reason)); name a file in a folder that is there and "
                    + "can "
                    + "be written to.")
        }
        // Of a link to nothing, what was just made.
        self.path = URL(filePath: path).resolvingSymlinksInPath().path
    }

    /// Whether both are one regular file. A device such as /dev/null may be named twice.
    func isSame(as other: ReportFile) -> Bool {
        guard let own = status, let others = other.status else { return false }
        return own.st_mode & S_IFMT == S_IFREG && own.st_dev == others.st_dev && own.st_ino == others.st_ino
    }

    /// Leaves no file behind that was not there.
    func close() {
        Glibc.close(descriptor)
        if !wasThere { unlink(path) }
    }

    private var status: stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status : nil
    }
}
