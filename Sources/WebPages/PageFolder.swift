import Foundation

/// The files of a folder, read once.
public struct PageFolder {
    /// The most bytes of all files together: they stay in memory.
    static let mostBytes = 64 << 20
    /// The most bytes of one file. A response is copied, and counts as unread by its client until it is sent.
    static let longestFile = 1 << 20
    /// The most files.
    static let mostFiles = 4096

    /// Why the folder cannot be served.
    public struct Fault: Error, Equatable {
        public let reason: String
        public let advice: String
    }

    /// The contents by path: `/index.html`, `/sounds/ring.mp3`.
    let files: [String: [UInt8]]

    /// Skips files and folders whose name begins with a dot, and symbolic links.
    init(_ folder: String) throws(Fault) {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
            throw Fault(reason: "cannot read \(folder): it is not a folder", advice: "name the folder with your pages")
        }
        guard let names = FileManager.default.enumerator(atPath: folder) else {
            throw Fault(reason: "cannot read \(folder)", advice: "let the server's user read it")
        }
        var (files, bytes): ([String: [UInt8]], Int) = ([:], 0)
        while let name = names.nextObject() as? String {
            let type = names.fileAttributes?[.type] as? FileAttributeType
            if name.split(separator: "/").last?.hasPrefix(".") == true {
                if type == .typeDirectory { names.skipDescendants() }
                continue
            }
            guard type == .typeRegular else { continue }
            let length = (names.fileAttributes?[.size] as? Int) ?? 0
            guard length <= Self.longestFile else {
                throw Fault(
                    reason: "\(folder)/\(name) is longer than \(Self.longestFile >> 20) MiB",
                    advice: "serve large files with a web server")
            }
            guard let content = FileManager.default.contents(atPath: "\(folder)/\(name)") else {
                throw Fault(reason: "cannot read \(folder)/\(name)", advice: "let the server's user read it")
            }
            bytes += content.count
            guard bytes <= Self.mostBytes, files.count < Self.mostFiles else {
                throw Fault(
                    reason: "\(folder) has more than \(Self.mostFiles) files or \(Self.mostBytes >> 20) MiB",
                    advice: "serve large files with a web server")
            }
            files["/\(name)"] = Array(content)
        }
        self.files = files
    }
}
