/// The words that the system shows for a push that is an alert. The title is the caller.
public struct AlertTexts: Equatable, Sendable {
    public var incomingCall = "Incoming call"
    public var incomingVideoCall = "Incoming video call"
    public var missedCall = "Missed call"

    public init() {}
}
