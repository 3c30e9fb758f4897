import CallVocabulary
import WireJSON

/// The reply of FCM's registration API.
public enum FCMRegistrationAnswer: Equatable, Sendable {
    /// The result for one token of the request.
    public enum Outcome: Equatable, Sendable {
        /// The FCM token mapped to an APNs token; nil for a subscription.
        case done(registrationToken: String?)
        /// The reason, as text.
        case failed(String)
    }

    /// One for each token, in the order of the request.
    case outcomes([Outcome])
    /// The whole request was refused; the reason, as text.
    case refused(String)

    /// - Parameter count: how many tokens the request had; 0 for a notice.
    public init(status: Int, body: [UInt8], count: Int) {
        guard status == 200 else {
            self = .refused(Self.words(status: status, body: body))
            return
        }
        let outcomes = body.withUnsafeBytes { bytes -> [Outcome] in
            var outcomes: [Outcome] = []
            let root = try? JSONScanner.document(bytes)
            root?.member("results")?.forEachElement { outcomes.append(Self.outcome($0)) }
            return outcomes
        }
        self =
            outcomes.count == count
            ? .outcomes(outcomes) : .refused("the answer speaks of \(outcomes.count) tokens instead of \(count)")
    }

    private static func outcome(_ result: JSONValue) -> Outcome {
        if let error = result.member("error")?.string { return .failed(words(of: error)) }
        // Only imports have a status.
        guard let status = result.member("status")?.string else { return .done(registrationToken: nil) }
        guard status == "OK", let token = result.member("registration_token")?.string else {
            return .failed(words(of: status))
        }
        return .done(registrationToken: token)
    }

    private static func words(of code: String) -> String {
        switch code {
        case "NOT_FOUND": "the registration token was deleted, or the app was removed (NOT_FOUND)"
        case "INVALID_ARGUMENT": "this is not a registration token of the project (INVALID_ARGUMENT)"
        case "TOO_MANY_TOPICS": "the app has as many topics as FCM allows (TOO_MANY_TOPICS)"
        case "RESOURCE_EXHAUSTED": "too many changes at a time; try again later (RESOURCE_EXHAUSTED)"
        case "INTERNAL", "UNAVAILABLE": "FCM failed; try again later (\(code))"
        default: code.printable(upTo: 100)
        }
    }

    private static func words(status: Int, body: [UInt8]) -> String {
        let error = FCMErrorBody(body)
        let code = error.errorCode ?? error.status ?? "HTTP \(status)"
        let detail = error.message.map { ": \($0)" } ?? ""
        return switch status {
        case 401: "FCM does not take the access token (\(code))\(detail)"
        case 403: "the service account may not do this in the project (\(code))\(detail)"
        case 404: "there is no such project or API (\(code))\(detail)"
        case 429: "too many requests; try again later (\(code))\(detail)"
        case 500...: "FCM failed; try again later (\(code))\(detail)"
        default: "FCM refuses the request (\(code))\(detail)"
        }
    }
}
