import CallServer
import Foundation

/// TURN servers for media.
extension ConfigurationBuilder {
    /// nil: clients are told of none.
    mutating func turn() -> TurnConfiguration? {
        guard settings.isSet(.turnURLs) || settings.isSet(.turnSecretFile) else { return nil }
        let urls = (settings.text(.turnURLs) ?? "").split(separator: ",").map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        for url in urls where !Self.isICEAddress(url) {
            fault(
                .turnURLs, "\(ShownText.quoted(url)) is no address of a TURN or STUN server",
                "give one such as turn:turn.example.com:3478")
        }
        if urls.isEmpty {
            fault(.turnSecretFile, "is of no use without turn.urls", "give the addresses of the TURN servers")
        }
        guard let path = settings.text(.turnSecretFile) else {
            fault(.turnURLs, "needs turn.secret_file", "TURN servers refuse clients without credentials")
            return nil
        }
        guard let text = file(path, .turnSecretFile, isPrivate: true) else { return nil }
        guard let secret = TurnConfiguration.secret(in: text) else {
            fault(.content, .turnSecretFile, "\(path) is empty", "make a secret with: openssl rand -hex 32 > \(path)")
            return nil
        }
        return TurnConfiguration(
            urls: urls, secret: secret, lifetime: settings.seconds(.turnSeconds, TurnConfiguration.standardLifetime),
            secretFile: path)
    }

    /// RFC 7064 and RFC 7065: a scheme, a host, perhaps a port and a transport.
    private static func isICEAddress(_ text: String) -> Bool {
        text.wholeMatch(
            of: /(stuns?|turns?):([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(\?transport=(udp|tcp))?/) != nil
    }
}
