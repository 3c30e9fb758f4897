/// A user's block list, and the targets that calls are forwarded to when the user does not answer.
public struct CallRules: Equatable, Sendable {
    /// The most callers a user blocks.
    public static let mostBlocked = 1000
    /// How long a user's devices may ring before ``forwardNoAnswer`` is rung.
    public static let noAnswerRange = Duration.seconds(5)...Duration.seconds(600)

    /// Users whose calls do not ring. They end as `declined`, and are not recorded as missed.
    public var blocked: [Handle]
    /// Rung when the user is busy. A user, an alias or a group, as ``forwardNoAnswer``.
    public var forwardBusy: CallTarget?
    /// Rung when no device of the user answers in time, or none can be reached.
    public var forwardNoAnswer: CallTarget?
    /// The time to answer; nil, or a longer time than the call's, means the call's ring time.
    public var noAnswerAfter: Duration?

    public init(
        blocked: [Handle] = [], forwardBusy: CallTarget? = nil, forwardNoAnswer: CallTarget? = nil,
        noAnswerAfter: Duration? = nil
    ) {
        self.blocked = blocked
        self.forwardBusy = forwardBusy
        self.forwardNoAnswer = forwardNoAnswer
        self.noAnswerAfter = noAnswerAfter
    }

    public var isEmpty: Bool { self == CallRules() }
}
