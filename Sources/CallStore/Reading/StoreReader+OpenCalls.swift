import CallCore
import StoreInterface

extension StoreReader {
    /// The live calls and those with a push still open, with their legs and pushes, and the pushes about missed calls that
    /// are still open: what somebody needs who follows the records from here on. The rest of the state is left empty.
    public func openCalls() throws(StoreFailure) -> RecoveredState {
        try read { try Recovery.readOpenCalls($0) }
    }
}
