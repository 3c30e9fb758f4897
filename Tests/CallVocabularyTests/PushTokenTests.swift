import CallVocabulary
import Testing

@Suite("Push tokens")
struct PushTokenTests {
    private static let hexadecimal = String(repeating: "0f", count: 32)
    private static let registration = "dGhpc2lzbm90:APA91bHun4MxP5egoKMwt2KZFBaFUH-1_RYqx"

    private static func fault(
        _ provider: PushProvider, _ kind: PushKind, _ environment: PushEnvironment, _ topic: String, _ token: String
    ) -> PushTokenFault.Member? {
        PushToken(provider: provider, kind: kind, environment: environment, topic: topic, token: token).fault?.member
    }

    @Test("every combination of provider, kind, environment and topic is taken, or refused for its first wrong member")
    func combinations() {
        var table: [String] = []
        for provider in PushProvider.allCases {
            for kind in PushKind.allCases {
                for environment in PushEnvironment.allCases {
                    let topics = ["org.example.phone.voip", "org.example.phone", "my-project", ""]
                    let token = provider == .apns ? Self.hexadecimal : Self.registration
                    let faults = topics.map { topic in
                        Self.fault(provider, kind, environment, topic, token).map(\.rawValue) ?? "-"
                    }
                    table.append("\(provider) \(kind) \(environment): \(faults.joined(separator: " "))")
                }
            }
        }
        // Topics: bundle id with .voip, without, a project id, none.
        #expect(
            table == [
                "apns voip production: - topic topic topic", "apns voip sandbox: - topic topic topic",
                "apns alert production: topic - - topic", "apns alert sandbox: topic - - topic",
                "apns data production: kind kind kind kind", "apns data sandbox: kind kind kind kind",
                "fcm voip production: kind kind kind kind", "fcm voip sandbox: kind kind kind kind",
                "fcm alert production: topic topic - topic",
                "fcm alert sandbox: environment environment environment environment",
                "fcm data production: topic topic - topic",
                "fcm data sandbox: environment environment environment environment",
                "webpush voip production: kind kind kind kind", "webpush voip sandbox: kind kind kind kind",
                "webpush alert production: kind kind kind kind", "webpush alert sandbox: kind kind kind kind",
                "webpush data production: topic topic topic topic",
                "webpush data sandbox: environment environment environment environment",
            ])
    }

    @Test(
        "an APNs token is hexadecimal, whole bytes, and of a length that one may have",
        arguments: [
            (hexadecimal, true), (hexadecimal.uppercased(), true), (String(repeating: "a", count: 16), true),
            (String(repeating: "a", count: 200), true), (String(repeating: "a", count: 512), true),
            ("", false), ("abcd1234", false), (String(repeating: "a", count: 14), false),
            (String(repeating: "a", count: 514), false), (String(hexadecimal.dropLast()), false),
            ("<\(hexadecimal.dropLast(2))>", false), ("\(hexadecimal.prefix(8)) \(hexadecimal.prefix(7))", false),
            ("3q2+7w==3q2+7w==", false), ("0x\(hexadecimal)", false), ("\(hexadecimal)\n", false),
            ("ÀÀÀÀÀÀÀÀ", false), (String(repeating: "g", count: 64), false), (registration, false),
        ] as [(String, Bool)])
    func deviceTokens(token: String, isTaken: Bool) {
        for (kind, topic) in [(PushKind.voip, "a.voip"), (.alert, "a")] {
            #expect(Self.fault(.apns, kind, .production, topic, token) == (isTaken ? nil : .token))
        }
    }

    @Test(
        "an FCM token is a registration token, and not one of APNs",
        arguments: [
            (registration, true), ("x", true), ("", false), (hexadecimal, false), (hexadecimal.uppercased(), false),
            (String(hexadecimal.dropLast(2)), true), ("a b", false), ("a/b", false), ("a\n", false), ("ä", false),
        ] as [(String, Bool)])
    func registrationTokens(token: String, isTaken: Bool) {
        #expect(Self.fault(.fcm, .data, .production, "p", token) == (isTaken ? nil : .token))
        let push = PushToken(provider: .fcm, kind: .data, environment: .production, topic: "p", token: token)
        let words = push.fault?.expected ?? ""
        #expect(words.contains("APNs' device token") == (token.lowercased() == Self.hexadecimal))
    }

    @Test(
        "topics are bundle ids and project ids",
        arguments: [
            (.apns, .voip, ".voip", false), (.apns, .voip, "a.VOIP", false),
            (.apns, .voip, "a b.voip", false), (.apns, .voip, "a.voip ", false), (.apns, .voip, "a/b.voip", false),
            (.apns, .voip, String(repeating: "a", count: 250) + ".voip", true),
            (.apns, .voip, String(repeating: "a", count: 251) + ".voip", false),
            (.apns, .voip, "com.example.My_App-2.voip", true), (.apns, .alert, "com.example\r\nx: y", false),
            (.apns, .alert, "*", false), (.apns, .alert, "com.example.voip.app", true),
            (.fcm, .data, "My-Project", false), (.fcm, .data, "com.example.app", false),
            (.apns, .voip, "..voip", false), (.apns, .voip, "a.voip.voip", false), (.apns, .voip, ".a.voip", false),
            (.fcm, .data, "example.com:my-project", true),
            (.fcm, .alert, "a/b", false), (.fcm, .alert, "123456789012", true),
        ] as [(PushProvider, PushKind, String, Bool)])
    func topics(provider: PushProvider, kind: PushKind, topic: String, isTaken: Bool) {
        let token = provider == .apns ? Self.hexadecimal : Self.registration
        #expect(Self.fault(provider, kind, .production, topic, token) == (isTaken ? nil : .topic))
    }

    @Test("what is expected says what to do, and does not tell the token")
    func words() {
        let token = PushToken(
            provider: .apns, kind: .voip, environment: .sandbox, topic: "a.voip", token: "<secret secret>")
        let words = token.fault?.description ?? ""
        #expect(words.contains("hexadecimal") && !words.contains("secret"))
    }

    @Test("APNs tokens are equal in either case, FCM's are not")
    func identity() {
        func token(_ provider: PushProvider, _ text: String) -> PushToken {
            PushToken(provider: provider, kind: .alert, environment: .production, topic: "a", token: text)
        }
        #expect(token(.apns, "AbCd") == token(.apns, "aBcD"))
        #expect(token(.apns, "AbCd").token == "abcd")
        #expect(Set([token(.apns, "AB"), token(.apns, "ab")]).count == 1)
        #expect(token(.fcm, "AbCd") != token(.fcm, "aBcD"))
        #expect(token(.fcm, "AbCd").token == "AbCd")
    }
}
