/// A push to a phone or browser, from APNs, FCM or Web Push.
struct PhoneParcel: Equatable {
    /// The `apns-id`, or the message's id.
    var id: String
    /// The headers on the phone's link.
    var headers: [String: String]
    var payload: [UInt8]

    init(_ push: AcceptedPush) {
        id = push.id
        payload = push.payload
        headers = [
            "apns-id": push.id, "apns-topic": push.topic, "apns-push-type": push.type.rawValue,
            "apns-priority": "\(push.priority)",
        ]
        headers["apns-expiration"] = push.expiration.map { "\($0)" }
        headers["apns-collapse-id"] = push.collapseID
    }

    init(_ message: AcceptedMessage, isHigh: Bool) {
        id = message.id
        payload = message.payload
        headers = [
            "fcm-message-id": message.id, "fcm-from": message.from,
            "fcm-priority": isHigh ? "high" : "normal",
            "fcm-original-priority": message.isHigh ? "high" : "normal",
            "fcm-ttl": "\(message.timeToLive.components.seconds)",
        ]
        headers["fcm-collapse-key"] = message.collapseKey
    }

    /// The payload is JSON: a text that is none becomes a string, and a push without content null.
    init(_ push: AcceptedWebPush) {
        id = push.id
        payload = JSONValue.null.written
        if let content = push.payload {
            let isObject = PhoneLinkMessages.decode(JSONValue.self, from: content)?.members != nil
            payload = isObject ? content : JSONValue.string(String(decoding: content, as: UTF8.self)).written
        }
        headers = [
            "webpush-id": push.id, "webpush-urgency": push.urgency,
            "webpush-ttl": "\(push.timeToLive.components.seconds)",
        ]
        headers["webpush-topic"] = push.topic
    }
}

/// An action that follows from an event of a phone.
enum PhoneEffect: Equatable {
    case deliver(PhoneParcel, mustReport: Bool)
    case kill(unreported: [String], isVoIPBlocked: Bool)
    /// Stores the push, replacing another one if so.
    case store(isReplacing: Bool)
    case drop(PhoneParcel, reason: String)
    /// A browser showed no notification for the push.
    case silent(String)
    /// The browser ends the subscription.
    case revoke

    init(_ effect: SimulatedIPhone.Effect) {
        switch effect {
        case .deliver(let push, let mustReport): self = .deliver(PhoneParcel(push), mustReport: mustReport)
        case .kill(let unreported, let isBlocked): self = .kill(unreported: unreported, isVoIPBlocked: isBlocked)
        case .store(_, let replaced), .hold(_, let replaced): self = .store(isReplacing: replaced != nil)
        case .drop(let push, let reason): self = .drop(PhoneParcel(push), reason: reason.rawValue)
        }
    }

    init(_ effect: SimulatedAndroidPhone.Effect) {
        switch effect {
        case .deliver(let message, let isHigh):
            self = .deliver(PhoneParcel(message, isHigh: isHigh), mustReport: false)
        case .store(_, let replaced): self = .store(isReplacing: replaced != nil)
        case .drop(let message, let reason):
            self = .drop(PhoneParcel(message, isHigh: message.isHigh), reason: reason.rawValue)
        }
    }
    init(_ effect: SimulatedBrowser.Effect) {
        switch effect {
        // Each push must have a notification.
        case .deliver(let push): self = .deliver(PhoneParcel(push), mustReport: true)
        case .store(_, let replaced): self = .store(isReplacing: replaced != nil)
        case .drop(let push, let reason): self = .drop(PhoneParcel(push), reason: reason.rawValue)
        case .silent(let id): self = .silent(id)
        case .revoke: self = .revoke
        }
    }
}
