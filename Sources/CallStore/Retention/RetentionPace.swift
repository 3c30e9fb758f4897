/// The schedule and the rate limits of retention.
struct RetentionPace {
    /// From the start of the server, which is busy then.
    var firstAfter = Duration.seconds(60)
    /// From the end of a run to the start of the next.
    var every = Duration.seconds(3600)
    /// The most rows deleted or read in one slice.
    var rows = 500
    /// After this time no further call is begun in a slice. The sync of its transaction is extra.
    var time = Duration.milliseconds(5)
    /// The share of the thread's time that slices may take, 0…1.
    var share = 0.03
    /// Pause of a slice that yields to waiting commits.
    var yield = Duration.milliseconds(10)
    /// How often in a row a slice yields to commits.
    var patience = 100

    /// The pause after a slice.
    func pause(after took: Duration) -> Duration { took * (1 / share - 1) }
}
