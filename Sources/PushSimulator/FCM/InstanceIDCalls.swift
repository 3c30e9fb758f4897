import CallVocabulary

/// The registration API of `iid.googleapis.com`: maps APNs tokens to FCM tokens, and subscribes tokens to topics.
struct InstanceIDCalls {
    struct Refusal: Error {
        var status: Int
        var error: String
    }

    enum Call { case batchImport, batchAdd, batchRemove }

    let core: SimulatorCore

    func answer(_ call: Call, _ body: [UInt8]) throws(Refusal) -> [UInt8] {
        switch call {
        case .batchImport: try batchImport(body)
        case .batchAdd: try subscribe(body, isSubscribed: true)
        case .batchRemove: try subscribe(body, isSubscribed: false)
        }
    }

    private static let mostImported = 100
    private static let mostSubscribed = 1000

    private struct Import: Decodable {
        var application: String
        var sandbox: Bool
        var tokens: [String]

        private enum CodingKeys: String, CodingKey {
            case application, sandbox
            case tokens = "apns_tokens"
        }
    }

    private struct Imported: Encodable {
        var deviceToken: String
        var status: String
        var registrationToken: String?

        private enum CodingKeys: String, CodingKey {
            case deviceToken = "apns_token"
            case status
            case registrationToken = "registration_token"
        }
    }

    /// Maps alert tokens; tokens that APNs did not issue for the application are not mapped.
    private func batchImport(_ body: [UInt8]) throws(Refusal) -> [UInt8] {
        let asked = try read(Import.self, body)
        guard (1...Self.mostImported).contains(asked.tokens.count) else {
            throw Refusal(status: 400, error: "InvalidArgument: apns_tokens takes 1 to \(Self.mostImported)")
        }
        let environment: PushEnvironment = asked.sandbox ? .sandbox : .production
        let results = asked.tokens.map { token in
            let device = token.lowercased()
            let isKnown =
                core.standing(of: device, topic: asked.application, environment: environment)
                == .registered(topic: asked.application)
            let mapped = isKnown ? core.fcm.token(mapping: device, application: asked.application) : nil
            return Imported(
                deviceToken: token, status: mapped == nil ? "Internal Server Error" : "OK", registrationToken: mapped)
        }
        return PhoneLinkMessages.encode(["results": results])
    }

    private struct Subscription: Decodable {
        var to: String
        var tokens: [String]

        private enum CodingKeys: String, CodingKey {
            case to
            case tokens = "registration_tokens"
        }
    }

    private func subscribe(_ body: [UInt8], isSubscribed: Bool) throws(Refusal) -> [UInt8] {
        let asked = try read(Subscription.self, body)
        guard asked.to.hasPrefix("/topics/"), let topic = FCMSendRequest.topicName(asked.to) else {
            throw Refusal(status: 400, error: "InvalidTopicName")
        }
        guard (1...Self.mostSubscribed).contains(asked.tokens.count) else {
            throw Refusal(status: 400, error: "InvalidArgument: registration_tokens takes 1 to \(Self.mostSubscribed)")
        }
        let results = asked.tokens.map { token -> [String: String] in
            guard core.fcm.isRegistered(token) else { return ["error": "NOT_FOUND"] }
            core.fcm.subscribe(token, to: topic, isSubscribed: isSubscribed)
            return [:]
        }
        return PhoneLinkMessages.encode(["results": results])
    }

    private func read<Value: Decodable>(_: Value.Type, _ body: [UInt8]) throws(Refusal) -> Value {
        guard let value = PhoneLinkMessages.decode(Value.self, from: body) else {
            throw Refusal(status: 400, error: "InvalidArgument: invalid request body")
        }
        return value
    }
}
