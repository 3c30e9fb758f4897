import CallStore

/// Where a benchmark writes what has to be durable.
struct SyncedFolder {
    let path: String
    private let fileSystem: FileSystem?

    init(_ path: String) {
        self.init(path, fileSystem: FileSystem(of: path))
    }

    init(_ path: String, fileSystem: FileSystem?) {
        self.path = path
        self.fileSystem = fileSystem
    }

    /// In words.
    var description: String { "on \(fileSystem?.description ?? "an unknown file system")" }

    /// What its figures say nothing of; empty when that is not known of any.
    var doubts: [String] {
        guard let fileSystem, fileSystem.isMemory else { return [] }
        return ["the data lies in memory (\(fileSystem)), where nothing is written to a disk"]
    }
}
