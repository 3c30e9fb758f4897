import CallVocabulary

/// What the rest of the server tells the admin thread.
enum AdminMessage: Sendable {
    /// The core's answer; what it says is on disk.
    case answered(AdminRequestID, Result<AdminReply, AdminRefusal>)
}
