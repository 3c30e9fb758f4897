import CallCore
import CallVocabulary
import StoreInterface

/// What the rest of the server tells the admin thread.
package enum AdminMessage: Sendable {
    /// The core's answer; what it says is on disk.
    case answered(AdminRequestID, Result<AdminReply, AdminRefusal>)
    /// The reply frame with data read from the store.
    case read(AdminRequestID, [UInt8])
    /// The monitor feed has a batch.
    case fed
    /// The monitor feed has dropped batches.
    case feedLost
    /// The initial state of the monitor, read for the load of this number.
    case loaded(Int, Result<RecoveredState, any Error>)
    /// The core's figures, put together with the others.
    case coreFigures(FigureSources.Gather)
    /// Somebody asks for the live picture's figures.
    case liveFigures(@Sendable (LiveFigures?) -> Void)
}
