import Foundation

/// The files that settings name, as they were read: a certificate that is renewed has the same path.
struct SettingsFiles: Sendable {
    struct File {
        let text: String
        let isReadableByOthers: Bool
    }

    struct Failure: Error {
        let reason: String
        let advice: String
    }

    /// No key or certificate is longer, in bytes; something else is read by mistake.
    private static let longest = 1024 * 1024

    /// By key, what tells the contents of its files from others in this process.
    private(set) var marks: [String: [Int]] = [:]

    mutating func read(_ path: String, for setting: Setting) throws(Failure) -> File {
        guard let data = FileManager.default.contents(atPath: path) else {
            // What is no path may be a key that was given in place of its file.
            let isPath = path.contains("/") || !path.contains(":")
            throw Failure(
                reason: isPath ? "cannot read \(path)" : "cannot read what was given; it takes the path of a file",
                advice: "check the path and its permissions")
        }
        guard data.count <= Self.longest, let text = String(data: data, encoding: .utf8) else {
            throw Failure(reason: "\(path) is not text", advice: "keys and certificates are given in PEM or JSON")
        }
        marks[setting.key, default: []].append(text.hashValue)
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        let permissions = (attributes?[.posixPermissions] as? NSNumber)?.intValue ?? 0
        return File(text: text, isReadableByOthers: permissions & 0o004 != 0)
    }
}
