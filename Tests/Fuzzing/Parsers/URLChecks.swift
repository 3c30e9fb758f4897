import CallVocabulary
import LibWebSockets
import OutgoingHTTP

/// A parsed URL, origin or id equals the one parsed from its description.
enum URLChecks {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            try check(text)
        }
    }

    private static func check(_ text: String) throws(Violation) {
        if let url = WebSocketURL(text) {
            try require(WebSocketURL(url.description) == url, "\(text.debugDescription) is written as \(url)")
            try require(url.port > 0 && !url.host.isEmpty && url.path.hasPrefix("/"), "\(url)")
        }
        if let url = WebAddress(text) {
            try require(WebAddress(url.text) == url, "\(text.debugDescription) is written as \(url.text)")
            try require(url.target.hasPrefix("/"), "the target of \(url) is \(url.target)")
            try require(url.target.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "the target \(url.target)")
        }
        try check(endpoint: text)
        if let origins = AllowedOrigins(text), case .only(let names) = origins {
            let again = AllowedOrigins(names.joined(separator: ","))
            try require(again == origins, "\(names) are read as \(String(describing: again))")
        }
        if let handle = Handle(text) {
            try require(handle.text.utf8.elementsEqual(text.utf8), "\(handle) differs from its text")
            try require(Handle(known: text) == handle, "\(handle) is not taken from the store")
        }
        if let id = CallID(text) { try require(id.description == text.lowercased(), "\(id) is written as another") }
    }

    private static let keys =
        "#p256dh=BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        + "&auth=BTBZMqHH6r4Tts7J_aSIgg"

    /// The endpoint of a Web Push subscription has the host that other readers of URLs find in it.
    private static func check(endpoint text: String) throws(Violation) {
        guard let subscription = try? WebPushSubscription(text + keys) else { return }
        let again = try? WebPushSubscription(subscription.origin + subscription.path + keys)
        try require(again == subscription, "\(text.debugDescription) is written as \(subscription.origin)")
        try require(subscription.port > 0 && !subscription.host.isEmpty, "\(subscription.origin)")
        try require(subscription.path.hasPrefix("/"), "the path \(subscription.path)")
        try require(subscription.path.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "the path \(subscription.path)")
        guard let url = WebAddress(text) else { return }
        let isSame = url.host == subscription.host && url.port == subscription.port
        try require(isSame, "\(text.debugDescription) is \(url)")
    }
}
