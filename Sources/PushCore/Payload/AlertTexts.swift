/// The body texts of alerts. The title is the caller's name.
public struct AlertTexts: Equatable, Sendable {
    /// The longest text, in bytes.
    public static let longest = 200

    public var incomingCall = "Incoming call"
    public var incomingVideoCall = "Incoming video call"
    public var missedCall = "Missed call"

    public init() {}
}
