import CallVocabulary
import Foundation

extension WebPushSubscription {
    private struct JSON: Decodable {
        struct Keys: Decodable {
            var p256dh: String
            var auth: String
        }

        var endpoint: String
        var keys: Keys
    }

    /// The token of a subscription, given as a page has it (`JSON.stringify(subscription)`), or as the token itself; nil
    /// for any other text.
    static func text(_ given: String) -> String? {
        if given.hasPrefix("https://") { return given }
        guard let json = try? JSONDecoder().decode(JSON.self, from: Data(given.utf8)) else { return nil }
        // Chrome's keys had padding once.
        func plain(_ key: String) -> String { key.filter { $0 != "=" } }
        return "\(json.endpoint)#p256dh=\(plain(json.keys.p256dh))&auth=\(plain(json.keys.auth))"
    }
}
