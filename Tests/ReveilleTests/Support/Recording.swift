import Foundation
import Testing

/// What a command has printed before, kept in `Recorded` for people to read.
///
/// With `RECORD_OUTPUT` set it is written anew: for a change that is meant, to be read before it takes the old one's
/// place.
enum Recording {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Recorded")

    static func expect(
        _ lines: [String], as name: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let text = lines.joined(separator: "\n") + "\n"
        let file = folder.appending(path: name)
        if ProcessInfo.processInfo.environment["RECORD_OUTPUT"] != nil {
            try Data(text.utf8).write(to: file)
        }
        let recorded = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(text == recorded, "\(name)", sourceLocation: sourceLocation)
    }
}
