import ChildProcess
import Foundation
import Synchronization

/// What the load tests of this process have started and made, for an end that waits for nothing. Any thread.
final class Remains: Sendable {
    private struct Contents {
        var processes: [ObjectIdentifier: ChildProcess] = [:]
        var folders: Set<String> = []
    }

    /// One for all: whoever ends the process ends everything in it.
    static let all = Remains()

    private let contents = Mutex(Contents())

    func add(_ process: ChildProcess) { contents.withLock { $0.processes[ObjectIdentifier(process)] = process } }
    /// It has ended, or somebody waits for that.
    func forget(_ process: ChildProcess) { contents.withLock { $0.processes[ObjectIdentifier(process)] = nil } }
    func add(folder: String) { contents.withLock { _ = $0.folders.insert(folder) } }
    func forget(folder: String) { contents.withLock { _ = $0.folders.remove(folder) } }

    /// Ends the processes by force, and removes the folders.
    func remove() {
        let left = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        // Not by their numbers, which are others' once they have ended.
        for process in left.processes.values { process.send(SIGKILL) }
        for folder in left.folders { try? FileManager.default.removeItem(atPath: folder) }
    }
}
