import AdminKit
import AdminProtocol
import ArgumentParser
import CallServer
import CallVocabulary

/// The error of a request to the server, with advice.
struct AdminProblem: Error {
    enum Kind: Equatable {
        /// The server refused: not found, or not allowed. It will not do otherwise when asked again.
        case refused
        /// The server could not be reached.
        case unreachable
        /// The server denied access, or did not understand the request.
        case notUnderstood
    }

    let kind: Kind
    let words: String

    var exit: ExitCode { kind == .refused ? Exit.failed : Exit.unavailable }

    init(_ kind: Kind, _ words: String) {
        self.kind = kind
        self.words = words
    }

    /// - Parameter missing: the message for `not_found`, with the command that lists what exists.
    init(_ failure: AdminFailure, _ address: AdminAddress, missing: String? = nil) {
        switch failure {
        case .refused(let refusal):
            kind = .refused
            words = refusal.code == .notFound ? missing ?? refusal.message : refusal.message
        case .notRunning:
            kind = .unreachable
            if case .folder(let folder) = address, let process = folder.process {
                words =
                    "process \(process) runs \(address.words), but the socket \(folder.path)/admin.sock is gone; if it does "
                    + "not just start, the file was removed: restart the server"
                return
            }
            words =
                "no server is running \(address.words); start one with reveille serve, "
                + "or name its data folder with --data, or its socket or URL with --server"
        case .notAllowed(let socket):
            kind = .notUnderstood
            words = "this user may not use \(socket); run this as the user who runs the server"
        case .tokenRefused:
            kind = .notUnderstood
            words = "the server \(address.words) does not know this token; give the one in its configuration"
        case .untrusted(let reason):
            kind = .notUnderstood
            words = "the certificate of the server \(address.words) is not trusted: \(reason)"
        case .unreachable(let reason):
            kind = .unreachable
            words = "the server \(address.words) cannot be reached: \(reason)"
        case .lost(let reason):
            kind = .unreachable
            words =
                "the server \(address.words) went away before it answered (\(reason.clause)); look whether the change was made"
        case .timedOut:
            kind = .unreachable
            words = "the server \(address.words) does not answer; look at its log and at GET /readyz"
        case .notTaken(let error) where error.name == SignalError.Code.forbidden.name:
            kind = .refused
            words = error.message
        case .notTaken(let error):
            kind = .notUnderstood
            words = Self.words(error)
        }
    }

    private static func words(_ error: AdminError) -> String {
        guard error.name == SignalError.Code.methodNotFound.name else {
            return "the server did not take it: \(error.message)"
        }
        return "the server is of another version (\(error.message.clause)); use the reveille that runs the server"
    }
}
