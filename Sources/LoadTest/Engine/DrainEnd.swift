/// What ended the wait for the operations under way at the end of the load.
enum DrainEnd: Sendable {
    /// They are over, or the time limit passed.
    case patience
    /// The server is gone.
    case serverGone
    /// The run was interrupted: an operation that is not over is no failure.
    case asked
}
