/// When retention runs, and how little at a time.
struct RetentionPace {
    /// From the start of the server, which has other things to do then.
    var firstAfter = Duration.seconds(60)
    /// From the end of a run to the next.
    var every = Duration.seconds(3600)
    /// Rows deleted or looked at in one slice, at most.
    var rows = 500
    /// After this no further call is begun in a slice. The sync of its transaction comes on top.
    var time = Duration.milliseconds(5)
    /// The share of the thread's time that slices may take, 0…1.
    var share = 0.03
    /// Pause before commits that wait are looked after again.
    var yield = Duration.milliseconds(10)
    /// How often in a row a slice gives way to commits.
    var patience = 100

    /// How long to pause after a slice.
    func pause(after took: Duration) -> Duration { took * (1 / share - 1) }
}
