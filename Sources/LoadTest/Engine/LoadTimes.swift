/// Durations as numbers.
extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }

    /// Whole microseconds, 0 for what is negative.
    var microseconds: UInt64 {
        let (seconds, attoseconds) = components
        return UInt64(max(0, seconds * 1_000_000 + attoseconds / 1_000_000_000_000))
    }
}
