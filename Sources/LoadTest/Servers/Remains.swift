import ChildProcess
import Foundation
import Synchronization

/// The processes and folders of all load tests of this process, for an immediate end. Any thread.
final class Remains: Sendable {
    private struct Contents {
        var processes: [ObjectIdentifier: ChildProcess] = [:]
        var folders: Set<String> = []
    }

    static let all = Remains()

    private let contents = Mutex(Contents())

    func add(_ process: ChildProcess) { contents.withLock { $0.processes[ObjectIdentifier(process)] = process } }
    /// It has ended, or is being stopped.
    func forget(_ process: ChildProcess) { contents.withLock { $0.processes[ObjectIdentifier(process)] = nil } }
    func add(folder: String) { contents.withLock { _ = $0.folders.insert(folder) } }
    func forget(folder: String) { contents.withLock { _ = $0.folders.remove(folder) } }

    /// Ends the processes by force, and removes the folders.
    func remove() {
        let left = contents.withLock { contents in
            defer { contents = Contents() }
            return contents
        }
        // Not by process id, which may be reused.
        for process in left.processes.values { process.send(SIGKILL) }
        for folder in left.folders { try? FileManager.default.removeItem(atPath: folder) }
    }
}
