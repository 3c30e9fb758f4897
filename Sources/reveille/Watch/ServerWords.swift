import AdminKit
import AdminProtocol

/// Errors between a full-screen command and the server, as text.
enum ServerWords {
    /// The reason why a retry is useless; nil when it may help.
    static func refusal(_ failure: AdminFailure, _ address: AdminAddress) -> String? {
        switch failure {
        case .notAllowed, .refused, .tokenRefused, .untrusted: AdminProblem(failure, address).words
        // One that is busy may not be so later; one that does not know the method will not learn it.
        case .notTaken(let error): error.name == "method_not_found" ? AdminProblem(failure, address).words : nil
        case .notRunning, .unreachable, .lost, .timedOut: nil
        }
    }
}
