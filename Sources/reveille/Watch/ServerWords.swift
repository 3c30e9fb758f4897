import AdminKit
import AdminProtocol

/// What went wrong between a full-screen command and the server, for people.
enum ServerWords {
    /// Why trying again is no use; nil when it may be.
    static func refusal(_ failure: AdminFailure, _ address: AdminAddress) -> String? {
        switch failure {
        case .notAllowed, .refused, .tokenRefused, .untrusted: AdminProblem(failure, address).words
        // One that is busy may not be so later; one that does not know the method will not learn it.
        case .notTaken(let error): error.name == "method_not_found" ? AdminProblem(failure, address).words : nil
        case .notRunning, .unreachable, .lost, .timedOut: nil
        }
    }
}
