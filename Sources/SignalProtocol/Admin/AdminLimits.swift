/// How much a message of the admin API may carry, in both directions.
public enum AdminLimits {
    /// The longest frame. A group of the most members fits with the longest handles, each byte of them escaped; and it
    /// is half of what WebSocket libraries commonly take at most.
    public static let frame = 1 << 19
    /// What the entries of a list may fill of a frame; the rest is kept for the envelope.
    static let content = frame - 4096
}
