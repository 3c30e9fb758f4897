import CallCore
import CallVocabulary
import StoreInterface

/// Messages from other threads to the admin thread.
enum AdminMessage: Sendable {
    /// The core's answer; its changes are on disk.
    case answered(AdminRequestID, Result<AdminReply, AdminRefusal>)
    /// The reply frame with data read from the store.
    case read(AdminRequestID, [UInt8])
    /// The monitor feed has a batch.
    case fed
    /// The monitor feed has dropped batches.
    case feedLost
    /// The initial state of the monitor, read for the load of this number.
    case loaded(Int, Result<RecoveredState, any Error>)
    /// nil when the core does not run.
    case coreFigures(CoreSnapshot?)
    /// A request for the monitor's figures.
    case liveFigures(@Sendable (LiveFigures?) -> Void)
}
