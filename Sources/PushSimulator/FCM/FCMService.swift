import CallVocabulary

/// The state of FCM: its service account, issued tokens and subscriptions. Confined to the simulator's loop.
final class FCMService {
    /// The target of a registration token.
    enum Registration {
        case phone(SimulatedPhone)
        /// An app on an iPhone, through APNs.
        case apns(deviceToken: String, application: String)
    }

    /// The response to a successful token exchange.
    struct Grant: Encodable {
        var accessToken: String
        var expiresIn: Int64
        var tokenType = "Bearer"

        private enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case expiresIn = "expires_in"
            case tokenType = "token_type"
        }
    }

    static let tokenPath = "/token"

    let project: String
    let account: String
    let verifier: AssertionVerifier
    private(set) var accessTokens = AccessTokens()
    /// The URL of the OAuth endpoint; set once the port is known.
    var tokenURI = ""
    private unowned let core: SimulatorCore
    private var registrations: [String: Registration] = [:]
    /// In the order of issue.
    private var order: [String] = []
    private var topics: [String: Set<String>] = [:]

    /// - Parameter core: owns this object.
    init(core: SimulatorCore, account: ServiceAccount, verifier: AssertionVerifier) {
        self.core = core
        self.project = account.projectID
        self.account = account.clientEmail
        self.verifier = verifier
    }

    func issueAccessToken(now: Instant) -> String {
        accessTokens.issue(until: now + core.configuration.accessTokenLifetime, random: &core.random)
    }

    func revokeAccessTokens() { accessTokens.revokeAll() }

    func freshMessageID() -> String {
        "0:\(WallClock.now().milliseconds)000%" + .random(16, of: .hexadecimal, using: &core.random)
    }

    // MARK: Registrations

    /// In the form of Google's tokens: an installation id, then random text. The id begins with the bits 0111, so a
    /// token never begins with a hyphen.
    func freshToken() -> String {
        .random(1, of: .installationStart, using: &core.random) + .random(21, of: .urlSafe, using: &core.random)
            + ":APA91b" + .random(134, of: .urlSafe, using: &core.random)
    }

    func register(_ registration: Registration, token: String) {
        if registrations.updateValue(registration, forKey: token) == nil { order.append(token) }
    }

    /// The token mapped to an APNs token; always the same for one APNs token.
    func token(mapping deviceToken: String, application: String) -> String? {
        guard order.count < SimulatorCore.mostPhones else { return nil }
        for token in order {
            if case .apns(deviceToken, application) = registrations[token] { return token }
        }
        let token = freshToken()
        register(.apns(deviceToken: deviceToken, application: application), token: token)
        return token
    }

    func isRegistered(_ token: String) -> Bool {
        switch registrations[token] {
        case .phone(let phone): phone.unregisteredSince == nil
        case .apns: true
        case nil: false
        }
    }

    func subscribe(_ token: String, to topic: String, isSubscribed: Bool) {
        if isSubscribed { topics[topic, default: []].insert(token) } else { topics[topic]?.remove(token) }
    }

    func topics(of token: String) -> [String] {
        topics.filter { $0.value.contains(token) }.keys.sorted()
    }

    // MARK: Messages

    /// The recipients of a message. A topic may have no subscribers.
    func recipients(of target: FCMSendRequest.Target) throws(GoogleError) -> [String] {
        switch target {
        case .token(let token):
            let allowed = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:".utf8)
            guard token.utf8.allSatisfy(allowed.contains) else {
                throw GoogleError(
                    .invalidArgument, message: "The registration token is not a valid FCM registration token")
            }
            switch registrations[token] {
            case nil:
                if core.configuration.acceptsUnknownTokens { return [] }
                throw GoogleError(.unregistered)
            case .phone(let phone):
                guard phone.unregisteredSince == nil else { throw GoogleError(.unregistered) }
                guard phone.topic == project else { throw GoogleError(.senderIDMismatch) }
            case .apns: break
            }
            return [token]
        case .topic(let topic): return order.filter { topics[topic]?.contains($0) == true && isRegistered($0) }
        case .condition(let condition):
            return order.filter { token in
                isRegistered(token) && condition.holds { topics[$0]?.contains(token) == true }
            }
        }
    }

    func send(_ message: FCMSendRequest, id: String, to recipients: [String], delay: Duration?) {
        if recipients.isEmpty, case .token = message.target { core.counts.dropped["no_phone", default: 0] += 1 }
        for token in recipients {
            switch registrations[token] {
            case .phone(let phone): core.send(parcel(message, id: id), to: phone, delay: delay)
            case .apns(let deviceToken, let application):
                core.send(alert(message, deviceToken: deviceToken, application: application), delay: delay)
            case nil: break
            }
        }
    }

    private func parcel(_ message: FCMSendRequest, id: String) -> AcceptedMessage {
        var content: [String: JSONValue] = [:]
        if !message.data.isEmpty { content["data"] = .object(message.data.mapValues { .string($0) }) }
        if let notification = message.notification { content["notification"] = .object(notification.members) }
        let from: String
        switch message.target {
        case .topic(let topic): from = "/topics/\(topic)"
        case .token, .condition: from = project
        }
        return AcceptedMessage(
            id: id, from: from, isHigh: message.isHigh, timeToLive: message.timeToLive,
            collapseKey: message.collapseKey, hasNotification: message.notification != nil,
            tag: message.notification?.tag, payload: JSONValue.object(content).written)
    }

    /// The push that FCM makes of a message to an iPhone: an alert, or a background push without a visible part.
    private func alert(_ message: FCMSendRequest, deviceToken: String, application: String) -> AcceptedPush {
        var payload = message.apnsPayload?.members ?? [:]
        var aps = payload["aps"]?.members ?? [:]
        if aps["alert"] == nil, let notification = message.notification {
            aps["alert"] = .object(notification.members.filter { $0.key != "tag" })
        }
        let isShown = aps["alert"] != nil
        if !isShown { aps["content-available"] = .number(1) }
        payload["aps"] = .object(aps)
        for (key, value) in message.data { payload[key] = .string(value) }
        return AcceptedPush(
            id: core.freshID(), deviceToken: deviceToken, topic: application, type: isShown ? .alert : .background,
            priority: isShown ? 10 : 5, collapseID: message.apnsHeaders["apns-collapse-id"],
            payload: JSONValue.object(payload).written)
    }
}

@available(*, unavailable)
extension FCMService: Sendable {}

extension FCMSendRequest.Notification {
    fileprivate var members: [String: JSONValue] {
        ["title": title, "body": body, "tag": tag].compactMapValues { $0.map { .string($0) } }
    }
}
