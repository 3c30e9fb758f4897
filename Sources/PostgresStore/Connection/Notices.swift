import CPostgreSQL

/// The notices of a connection, which libpq reports while it reads results.
final class Notices {
    /// SQLSTATE 01000, `warning`: that of a wait for a synchronous standby that was cancelled.
    private static let warning = "01000"

    private let library: UnsafePointer<postgresql>
    var hasWarning = false

    init(_ library: UnsafePointer<postgresql>) { self.library = library }

    func take(_ notice: OpaquePointer) {
        guard let state = library.pointee.PQresultErrorField(notice, Int32(POSTGRESQL_SQLSTATE)) else { return }
        if String(cString: state) == Self.warning { hasWarning = true }
    }
}

@available(*, unavailable)
extension Notices: Sendable {}
