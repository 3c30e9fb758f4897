import ArgumentParser
import Foundation

/// Ties this process to the one that started it: it ends when its input closes.
struct LifelineOptions: ParsableArguments {
    @Flag(help: ArgumentHelp("End as by SIGTERM when the input ends.", visibility: .hidden))
    var untilInputEnds = false

    /// Starts to watch the input, if the option is given.
    func watch() {
        guard untilInputEnds else { return }
        // A thread for itself: it blocks until the end.
        Thread.detachNewThread {
            var byte: UInt8 = 0
            var count = 0
            repeat { count = read(STDIN_FILENO, &byte, 1) } while count > 0 || count < 0 && errno == EINTR
            kill(getpid(), SIGTERM)
        }
    }
}
