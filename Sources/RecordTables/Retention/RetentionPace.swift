/// The schedule and the rate limits of retention.
package struct RetentionPace {
    /// From the start of the server, which is busy then.
    package var firstAfter = Duration.seconds(60)
    /// From the end of a run to the start of the next.
    package var every = Duration.seconds(3600)
    /// The most rows deleted or read in one slice.
    package var rows = 500
    /// After this time no further call is begun in a slice. The sync of its transaction is extra.
    package var time = Duration.milliseconds(5)
    /// The share of the thread's time that slices may take, 0…1.
    package var share = 0.03
    /// Pause of a slice that yields to waiting commits.
    package var yield = Duration.milliseconds(10)
    /// How often in a row a slice yields to commits.
    package var patience = 100

    package init() {}

    /// The pause after a slice.
    package func pause(after took: Duration) -> Duration { took * (1 / share - 1) }
}
