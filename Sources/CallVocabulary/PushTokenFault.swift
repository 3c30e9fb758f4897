/// Why a registration can never be pushed to: the invalid member, and what is expected.
public struct PushTokenFault: Error, Equatable, Sendable, CustomStringConvertible {
    public enum Member: String, Sendable, CaseIterable {
        case kind, environment, topic, token
    }

    public let member: Member
    /// To follow "expected". Never quotes the token.
    public let expected: String

    public init(member: Member, expected: String) {
        self.member = member
        self.expected = expected
    }

    public var description: String { "\(member.rawValue): expected \(expected)" }
}

extension PushToken {
    /// The number of digits of an APNs device token. Apple's have 64 today, and the length is opaque: these bounds
    /// exclude only obvious errors.
    public static let deviceTokenDigits = 16...longest
    /// The suffix of a VoIP topic, after the app's bundle id.
    public static let voipSuffix = ".voip"

    /// The fault for which no push to this address can arrive under any configuration; nil when there is none. Of
    /// several faults, the first one that the app must correct.
    public var fault: PushTokenFault? {
        switch provider {
        case .apns: apnsKindFault ?? apnsTopicFault ?? deviceTokenFault
        case .fcm: fcmKindFault ?? projectFault ?? registrationTokenFault
        case .webpush: webPushKindFault ?? applicationServerKeyFault ?? subscriptionFault
        }
    }

    private var apnsKindFault: PushTokenFault? {
        switch kind {
        case .voip, .alert: nil
        case .data: PushTokenFault(member: .kind, expected: "voip or alert, as provider is apns; data is for fcm")
        }
    }

    private var fcmKindFault: PushTokenFault? {
        switch (kind, environment) {
        case (.voip, _): PushTokenFault(member: .kind, expected: "data or alert, as provider is fcm; voip is for apns")
        case (.data, .sandbox), (.alert, .sandbox):
            PushTokenFault(member: .environment, expected: "production, as provider is fcm, which has no sandbox")
        case (.data, .production), (.alert, .production): nil
        }
    }

    private var webPushKindFault: PushTokenFault? {
        switch (kind, environment) {
        case (.voip, _), (.alert, _): PushTokenFault(member: .kind, expected: "data, as provider is webpush")
        case (.data, .sandbox):
            PushTokenFault(member: .environment, expected: "production, as provider is webpush, which has no sandbox")
        case (.data, .production): nil
        }
    }

    private var apnsTopicFault: PushTokenFault? {
        guard topic.utf8.count <= FrameLimits.topic else {
            return PushTokenFault(member: .topic, expected: "a string of at most \(FrameLimits.topic) bytes")
        }
        let isVoIP = kind == .voip
        let bundle = isVoIP && topic.hasSuffix(Self.voipSuffix) ? topic.dropLast(Self.voipSuffix.count) : topic[...]
        let isBundle =
            !bundle.hasPrefix(".") && !bundle.hasSuffix(".") && !bundle.hasSuffix(Self.voipSuffix)
            && !bundle.isEmpty && bundle.utf8.allSatisfy(Self.isOfBundle)
        guard isBundle, topic.hasSuffix(Self.voipSuffix) == isVoIP else {
            let rule = isVoIP ? "with .voip behind it, as kind is voip" : "without .voip behind it, as kind is alert"
            return PushTokenFault(member: .topic, expected: "the app's bundle id \(rule)")
        }
        return nil
    }

    private var projectFault: PushTokenFault? {
        // Only a project id of an organization, "example.com:app", has a dot; otherwise it is an app's name.
        let hasDomain = !topic.contains(".") || topic.contains(":")
        guard !topic.isEmpty, hasDomain, topic.utf8.allSatisfy(Self.isOfProject) else {
            return PushTokenFault(member: .topic, expected: "the id of the Firebase project, as provider is fcm")
        }
        return nil
    }

    private var deviceTokenFault: PushTokenFault? {
        let digits = token.utf8.count
        guard Self.deviceTokenDigits.contains(digits), digits.isMultiple(of: 2),
            token.utf8.allSatisfy(Self.isHexadecimal)
        else {
            return PushTokenFault(
                member: .token,
                expected: "the device token in hexadecimal, two digits for each byte and nothing else, "
                    + "\(Self.deviceTokenDigits.lowerBound) to \(Self.deviceTokenDigits.upperBound) of them")
        }
        return nil
    }

    private var registrationTokenFault: PushTokenFault? {
        // The APNs device token of an iPhone, registered in place of Firebase's token.
        guard token.utf8.count != 64 || !token.utf8.allSatisfy(Self.isHexadecimal) else {
            return PushTokenFault(
                member: .token,
                expected: "the registration token as Firebase returns it; 64 hexadecimal digits are APNs' device token")
        }
        guard !token.isEmpty, token.utf8.allSatisfy(Self.isOfRegistration) else {
            return PushTokenFault(
                member: .token, expected: "a registration token of FCM: letters, digits, '-', '_', ':' and '.'")
        }
        return nil
    }

    private var applicationServerKeyFault: PushTokenFault? {
        guard WebPushSubscription.publicKey(topic[...]) != nil else {
            return PushTokenFault(
                member: .topic,
                expected: "the applicationServerKey of the subscription, as provider is webpush: "
                    + "\(WebPushSubscription.publicKeyForm)")
        }
        return nil
    }

    private var subscriptionFault: PushTokenFault? {
        do throws(WebPushSubscription.Fault) {
            _ = try WebPushSubscription(token)
            return nil
        } catch {
            return PushTokenFault(member: .token, expected: error.expected)
        }
    }

    /// The canonical form of a token. APNs reads device tokens in either case: they are stored in lower case, so that
    /// equal tokens compare equal. FCM and Web Push compare byte for byte.
    static func normalized(_ token: String, _ provider: PushProvider) -> String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        guard provider == .apns, token.utf8.contains(where: capitals.contains) else { return token }
        return String(decoding: token.utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte | 0x20
    }

    private static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }
    private static func isLetter(_ byte: UInt8) -> Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 }
    private static func isOne(_ byte: UInt8, of characters: StaticString) -> Bool {
        characters.withUTF8Buffer { $0.contains(byte) }
    }

    private static func isOfBundle(_ byte: UInt8) -> Bool { isDigit(byte) || isLetter(byte) || isOne(byte, of: "-._") }
    private static func isOfRegistration(_ byte: UInt8) -> Bool {
        isDigit(byte) || isLetter(byte) || isOne(byte, of: "-_:.")
    }
    /// Whether the byte may be in a project id, which is part of the path: lower case, and characters of domain-scoped
    /// ids.
    private static func isOfProject(_ byte: UInt8) -> Bool {
        isDigit(byte) || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || isOne(byte, of: "-.:")
    }
}
