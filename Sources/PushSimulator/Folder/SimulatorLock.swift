import Glibc

/// Prevents two simulators in one folder, which would overwrite each other's manifest. Held while the value lives; the
/// kernel releases it when the process ends.
final class SimulatorLock: Sendable {
    private let descriptor: Int32

    /// - Throws: ``SimulatorFolderError`` when another simulator, even in this process, holds the lock.
    init(folder: String) throws(SimulatorFolderError) {
        let path = folder + "/push-sim.lock"
        descriptor = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw SimulatorFolderError(path: path, problem: String(cString: strerror(errno)))
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw SimulatorFolderError(
                path: folder,
                problem: "another push simulator runs on this folder; stop it, or name another folder for this one")
        }
    }

    deinit { close(descriptor) }
}
