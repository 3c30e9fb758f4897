import Foundation

/// A folder for what a program leaves behind; removed with its contents at the end.
final class EmptyFolder {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "empty-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var contents: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path) }
    }
}
