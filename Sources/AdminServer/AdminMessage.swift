import CallCore
import CallVocabulary
import StoreInterface

/// What the rest of the server tells the admin thread.
package enum AdminMessage: Sendable {
    /// The core's answer; what it says is on disk.
    case answered(AdminRequestID, Result<AdminReply, AdminRefusal>)
    /// What was read from the store for this request, as the frame to send.
    case read(AdminRequestID, [UInt8])
    /// There is something for the live picture.
    case fed
    /// Batches have been dropped on the way.
    case feedLost
    /// What the picture begins with, read for the load of this number.
    case loaded(Int, Result<RecoveredState, any Error>)
    /// The core's figures, put together with the others.
    case coreFigures(FigureSources.Gather)
    /// Somebody asks for the live picture's figures.
    case liveFigures(@Sendable (LiveFigures?) -> Void)
}
