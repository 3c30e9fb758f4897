import CallVocabulary
import Testing

@Suite("Web Push subscriptions")
struct WebPushSubscriptionTests {
    /// The keys of RFC 8291 appendix A.
    static let p256dh = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    static let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    static let keys = "#p256dh=\(p256dh)&auth=\(auth)"
    /// The key of RFC 8292 section 2.4.
    static let applicationServerKey =
        "BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"

    private static func token(_ text: String, topic: String = applicationServerKey) -> PushToken {
        PushToken(provider: .webpush, kind: .data, environment: .production, topic: topic, token: text)
    }

    @Test("a subscription is read into endpoint, origin and keys")
    func parts() throws {
        let token = Self.token("https://push.example.net:8443/p/a?b=c%20d" + Self.keys)
        let subscription = try #require(token.subscription)
        #expect(token.fault == nil)
        #expect(subscription.host == "push.example.net")
        #expect(subscription.port == 8443)
        #expect(subscription.path == "/p/a?b=c%20d")
        #expect(subscription.origin == "https://push.example.net:8443")
        #expect(subscription.p256dh.count == 65 && subscription.p256dh.prefix(3) == [4, 0x25, 0x71])
        #expect(subscription.auth.prefix(3) == [5, 0x30, 0x59] && subscription.auth.count == 16)
        #expect(WebPushSubscription.base64URL(subscription.p256dh) == Self.p256dh)
        #expect(WebPushSubscription.base64URL(subscription.auth) == Self.auth)
    }

    @Test(
        "the origin has no standard port, and the path begins with a slash",
        arguments: [
            ("https://a.example", "https://a.example", "/"), ("https://a.example:443/x", "https://a.example", "/x"),
            ("https://a.example?q", "https://a.example", "/?q"),
            ("https://127.0.0.1:9/x", "https://127.0.0.1:9", "/x"),
            ("https://a.example/@x:y", "https://a.example", "/@x:y"),
        ])
    func origins(endpoint: String, origin: String, path: String) throws {
        let subscription = try WebPushSubscription(endpoint + Self.keys)
        #expect(subscription.origin == origin)
        #expect(subscription.path == path)
    }

    @Test(
        "a text that is no subscription is refused for its first wrong part",
        arguments: [
            ("", .notHTTPS), ("http://a.example/x" + keys, .notHTTPS), ("HTTPS://a.example/x" + keys, .notHTTPS),
            ("wss://a.example/x" + keys, .notHTTPS), (" https://a.example/x" + keys, .notHTTPS),
            ("https:///x" + keys, .host), ("https://A.example/x" + keys, .host),
            ("https://user@a.example/x" + keys, .host), ("https://user:pass@a.example/x" + keys, .host),
            ("https://fcm.googleapis.com:x@evil.example/" + keys, .host),
            ("https://fcm.googleapis.com\\@evil.example/" + keys, .path),
            ("https://[::1]/x" + keys, .host), ("https://a..b/x" + keys, .host), ("https://.a/x" + keys, .host),
            ("https://a./x" + keys, .host), ("https://a_b/x" + keys, .host), ("https://a%2eb/x" + keys, .host),
            ("https://\u{e9}.example/x" + keys, .host), ("https://a b/x" + keys, .host),
            ("https://a:0/x" + keys, .port), ("https://a:/x" + keys, .port), ("https://a:65536/x" + keys, .port),
            ("https://a:+1/x" + keys, .port), ("https://a:1:2/x" + keys, .port),
            ("https://a/x y" + keys, .path), ("https://a/x\r\ny:z" + keys, .path), ("https://a/\u{e9}" + keys, .path),
            ("https://a/\"" + keys, .path), ("https://a/x", .noKeys), ("https://a/x#", .noKeys),
            ("https://a/x#auth=\(auth)&p256dh=\(p256dh)", .noKeys), ("https://a/x#p256dh=\(p256dh)", .noKeys),
            ("https://a/x\(keys)&x=y", .noKeys), ("https://a/x#y\(keys)", .noKeys),
            ("https://a/x#p256dh=\(p256dh.dropLast())&auth=\(auth)", .p256dh),
            ("https://a/x#p256dh=\(p256dh)=&auth=\(auth)", .p256dh),
            ("https://a/x#p256dh=A\(p256dh.dropFirst())&auth=\(auth)", .p256dh),
            ("https://a/x#p256dh=\(p256dh.dropLast())5&auth=\(auth)", .p256dh),
            ("https://a/x#p256dh=\(p256dh)&auth=\(auth.dropLast(2))", .auth),
            ("https://a/x#p256dh=\(p256dh)&auth=\(auth)==", .auth), ("https://a/x#p256dh=\(p256dh)&auth=", .auth),
            ("https://a/x#p256dh=\(p256dh)&auth=\(auth.dropLast())+", .auth),
            ("https://a/\(String(repeating: "x", count: 1916))\(keys)", .tooLong),
        ] as [(String, WebPushSubscription.Fault)])
    func faults(text: String, fault: WebPushSubscription.Fault) {
        #expect(throws: fault) { _ = try WebPushSubscription(text) }
        let told = Self.token(text).fault
        #expect(told?.member == .token)
        #expect(told?.expected == fault.expected)
        #expect(Self.token(text).subscription == nil)
    }

    @Test("the longest subscription is taken")
    func longest() throws {
        let rest = PushToken.longestSubscription - "https://a/".utf8.count - Self.keys.utf8.count
        #expect(Self.token("https://a/" + String(repeating: "x", count: rest) + Self.keys).fault == nil)
        #expect(PushToken.longest(of: .webpush) == PushToken.longestSubscription)
        #expect(PushToken.longest(of: .fcm) == PushToken.longest)
    }

    @Test(
        "the topic is an application server key",
        arguments: ["", "my-project", p256dh + "A", "A" + p256dh.dropFirst(), String(p256dh.dropLast())])
    func topics(topic: String) {
        #expect(Self.token("https://a/x" + Self.keys, topic: topic).fault?.member == .topic)
    }

    @Test("a description has the push service's host and part of the public key, and nothing secret")
    func redaction() throws {
        let token = Self.token("https://push.example.net/secret-path" + Self.keys)
        let subscription = try #require(token.subscription)
        var dumped = ""
        dump(subscription, to: &dumped)
        dump(token, to: &dumped)
        for text in ["\(token)", "\(subscription)", token.excerpt, String(reflecting: token), dumped] {
            #expect(text.contains("push.example.net \(Self.p256dh.prefix(8))…"))
            #expect(!text.contains("secret-path") && !text.contains(Self.auth) && !text.contains(Self.auth.prefix(6)))
        }
        #expect(Self.token("https://secret-path").excerpt == "…")
    }

    @Test("subscriptions are compared byte for byte")
    func identity() {
        #expect(Self.token("https://a/X" + Self.keys) != Self.token("https://a/x" + Self.keys))
        #expect(Self.token("https://a/X" + Self.keys).token.hasPrefix("https://a/X#"))
    }

    @Test("a subscription carries calls and missed calls, which the browser reports, and no silent push")
    func deliveries() {
        let token = Self.token("https://a/x" + Self.keys)
        #expect(PushDelivery(token, for: .call) == .webPush)
        #expect(PushDelivery(token, for: .missedCall) == .webPush)
        #expect(PushDelivery(token, for: .sync) == nil)
        #expect(PushDelivery.webPush.isReported)
        #expect(PushDelivery.webPush.rawValue == "webpush")
    }

    @Test("bytes are encoded as RFC 4648 section 10 has it, without padding")
    func encoding() {
        let vectors = ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"]
        for (count, text) in vectors.enumerated() {
            #expect(WebPushSubscription.base64URL("foobar".utf8.prefix(count)) == text)
        }
        #expect(WebPushSubscription.base64URL([0xFB, 0xFF]) == "-_8")
    }
}
