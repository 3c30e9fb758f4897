import ArgumentParser
import Foundation

/// For whoever starts this program as a part of another: it ends with the other one, however that ends.
struct LifelineOptions: ParsableArguments {
    @Flag(help: ArgumentHelp("End as by SIGTERM when the input ends.", visibility: .hidden))
    var untilInputEnds = false

    /// Begins to look at the input, where that is asked for.
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
