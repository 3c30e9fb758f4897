import ArgumentParser
import EventLoop
import Foundation

/// A file that an option names.
enum ConfigurationFile {
    /// No key or certificate is longer, in bytes; something else is read by mistake.
    private static let longest = 1024 * 1024

    static func text(_ file: String, option: String) throws -> String {
        guard let bytes = try? PrivateFile.read(file, longest: longest) else {
            // What is no path may be a key that was given in place of its file.
            let name = file.contains(":") && !file.contains("/") ? "what was given; it takes the path of a file" : file
            throw ValidationError("\(option): cannot read \(name).")
        }
        guard let text = String(data: Data(bytes), encoding: .utf8) else {
            throw ValidationError("\(option): \(file) is not text; keys and certificates are given in PEM or JSON.")
        }
        return text
    }
}
