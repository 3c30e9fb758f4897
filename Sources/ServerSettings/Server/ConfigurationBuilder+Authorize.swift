import CallCore
import CallServer
import Foundation
import OutgoingHTTP
import WebhookClient

/// The backend that authorizes calls.
extension ConfigurationBuilder {
    /// nil: calls are not authorized.
    mutating func authorization() -> AuthorizationConfiguration? {
        guard let text = settings.text(.authorizeURL) else {
            if settings.isSet(.authorizeSecretFile) {
                fault(.authorizeSecretFile, "is of no use without authorize.url", "give the address of the backend")
            }
            return nil
        }
        let address = WebAddress(text)
        if address == nil {
            fault(
                .authorizeURL, "the value is no address that can be asked",
                "give one such as https://backend.example.com/authorize; http:// only with a numeric address of this "
                    + "machine or localhost"
            )
        }
        guard let path = settings.text(.authorizeSecretFile) else {
            fault(.authorizeURL, "needs authorize.secret_file", "the backend must know that this server asks")
            return nil
        }
        guard let secretText = file(path, .authorizeSecretFile, isPrivate: true) else { return nil }
        guard let secrets = WebhookSecret.all(in: secretText) else {
            fault(
                .content, .authorizeSecretFile,
                "\(path) does not hold secrets of whsec_ and 24 to 64 bytes in Base64, one a line",
                "make one with: echo whsec_$(openssl rand -base64 32) > \(path)")
            return nil
        }
        var policy = AuthorizationPolicy()
        policy.timeout = settings.integer(.authorizeTimeout).map { .milliseconds($0) } ?? policy.timeout
        checkTimeout(policy.timeout)
        policy.includesSessions = settings.flag(.authorizeSessions)
        policy.allowsOnFailure = settings.text(.authorizeOnFailure) == "allow"
        return address.map { AuthorizationConfiguration(address: $0, secrets: secrets, policy: policy) }
    }

    /// A connection without a session is closed after sessions.open_seconds, whether an answer is awaited or not.
    private mutating func checkTimeout(_ timeout: Duration) {
        guard settings.flag(.authorizeSessions), timeout >= settings.connectionLimits.openWithin else { return }
        fault(
            .authorizeTimeout, "is not shorter than sessions.open_seconds",
            "lower it, or raise sessions.open_seconds")
    }
}
