/// What ends the time that pieces have which are under way at the end of the load.
enum DrainEnd: Sendable {
    /// They are over, or had all the time that there is.
    case patience
    /// There is no server that could end them.
    case serverGone
    /// The run was asked to end before its time: what is not over is no failure.
    case asked
}
