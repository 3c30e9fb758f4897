import Foundation
import Synchronization

/// What the load tests of this process have started and made, for an end that waits for nothing. Any thread.
final class Remains: Sendable {
    private struct Contents {
        var processes: Set<Int32> = []
        var folders: Set<String> = []
    }

    /// One for all: whoever ends the process ends everything in it.
    static let all = Remains()

    private let contents = Mutex(Contents())

    func add(process: Int32) { contents.withLock { _ = $0.processes.insert(process) } }
    /// It has ended, or somebody waits for that.
    func forget(process: Int32) { contents.withLock { _ = $0.processes.remove(process) } }
    func add(folder: String) { contents.withLock { _ = $0.folders.insert(folder) } }
    func forget(folder: String) { contents.withLock { _ = $0.folders.remove(folder) } }

    /// Ends the processes by force, and removes the folders.
    func remove() {
        let left = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        for process in left.processes { kill(process, SIGKILL) }
        for folder in left.folders { try? FileManager.default.removeItem(atPath: folder) }
    }
}
