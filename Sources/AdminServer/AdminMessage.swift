import AdminProtocol
import CallCore
import CallVocabulary
import StoreInterface

/// A message from the rest of the server to the admin thread.
package enum AdminMessage: Sendable {
    /// The core's answer. Its changes are durable.
    case answered(AdminRequestID, Result<AdminReply, AdminRefusal>)
    /// The reply frame of a request that was answered on another thread, and why it was refused.
    case replied(AdminRequestID, [UInt8], AdminError?)
    /// The monitor feed has a batch.
    case fed
    /// The monitor feed has dropped batches.
    case feedLost
    /// The initial state of the monitor, read for the load of this number.
    case loaded(Int, Result<RecoveredState, any Error>)
    /// The core's figures, ready to be combined with the others.
    case coreFigures(FigureSources.Gather)
    /// A backend's request, by HTTP.
    case backend(BackendQuestion)
    /// A request for the monitor's figures.
    case liveFigures(@Sendable (LiveFigures?) -> Void)
}
