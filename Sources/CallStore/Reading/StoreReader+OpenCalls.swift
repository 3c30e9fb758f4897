import CallCore
import StoreInterface

extension StoreReader {
    /// The live calls and those with an open push, with their legs and pushes, and the open pushes about missed calls:
    /// the initial state for an observer of records. Other state is left empty.
    public func openCalls() throws(StoreFailure) -> RecoveredState {
        try read { try Recovery.readOpenCalls($0) }
    }
}
