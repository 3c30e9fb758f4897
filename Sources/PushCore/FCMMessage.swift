import CallVocabulary
import PushVocabulary
import WireJSON

/// The `messages:send` body of one push. Made at the time of sending, because FCM takes a time to live, not a deadline.
struct FCMMessage: Equatable, Sendable {
    enum Shape: Equatable, Sendable {
        /// A data message to an Android app, which wakes it.
        case data
        /// A notification to an Android app, which the system shows.
        case alert
        /// An alert to an iPhone whose APNs token was mapped to an FCM token; same content as over APNs.
        case iosAlert
    }

    /// FCM's limit, in bytes. FCM limits the payload; here the whole body must fit, which is stricter.
    static let longest = 4096
    /// FCM's longest time to live, four weeks, in seconds.
    static let longestTimeToLive: Int64 = 28 * 24 * 3600

    let shape: Shape
    /// FCM's registration token.
    @Secret private(set) var token: String
    let intent: PushIntent
    @Secret private(set) var wakeToken: String
    let texts: AlertTexts
    let omitted: [PushOmission]

    /// - Returns: nil when the required fields alone exceed the limit.
    init?(_ shape: Shape, to token: String, _ intent: PushIntent, wakeToken: String, texts: AlertTexts) {
        let fitted = PushOmission.fit(intent, into: Self.longest) { intent in
            // Measured with the longest time to live, so that the size holds whenever it is sent.
            Self(shape, token, intent, wakeToken, texts, omitted: []).bytes(
                timeToLive: Self.longestTimeToLive, expiration: intent.expiresAt.wholeSeconds)
        }
        guard let fitted else { return nil }
        self.init(shape, token, fitted.intent, wakeToken, texts, omitted: fitted.omitted)
    }

    private init(
        _ shape: Shape, _ token: String, _ intent: PushIntent, _ wakeToken: String, _ texts: AlertTexts,
        omitted: [PushOmission]
    ) {
        self.shape = shape
        self.token = token
        self.intent = intent
        self.wakeToken = wakeToken
        self.texts = texts
        self.omitted = omitted
    }

    /// The body to send at `now`, which must be before the intent expires.
    func bytes(now: Instant) -> [UInt8] {
        let seconds = (intent.expiresAt - now).wholeMilliseconds / 1000
        return bytes(
            timeToLive: min(max(0, seconds), Self.longestTimeToLive),
            expiration: seconds < 1 ? 0 : intent.expiresAt.wholeSeconds)
    }

    private func bytes(timeToLive: Int64, expiration: Int64) -> [UInt8] {
        JSONWriter.bytes { json in
            json.object { json in
                json.field("message") { json in
                    json.object { json in
                        json.field("token", token)
                        switch shape {
                        case .data:
                            writeData(to: &json)
                            writeAndroid(timeToLive, to: &json)
                        case .alert:
                            writeNotification(to: &json)
                            writeData(to: &json)
                            writeAndroid(timeToLive, to: &json)
                        case .iosAlert: writeAPNS(expiration, to: &json)
                        }
                    }
                }
            }
        }
    }

    private func writeNotification(to json: inout JSONWriter) {
        let alert = PushAlert(intent, texts: texts)
        json.field("notification") { json in
            json.object { json in
                json.field("title", alert.title)
                json.field("body", alert.body)
            }
        }
    }

    /// Writes `data`, whose values FCM requires to be strings.
    private func writeData(to json: inout JSONWriter) {
        json.field("data") { json in
            json.object { json in
                if intent.purpose != .call { json.field("type", intent.purpose.rawValue) }
                if intent.purpose != .sync {
                    json.field("uuid", intent.call)
                    json.field("handle", intent.from.text)
                    json.field("handle_type", intent.from.kind.rawValue)
                    json.field("name", intent.fromName)
                }
                guard intent.purpose == .call else { return json.field("missed", String(intent.missedCount)) }
                json.field("has_video", intent.video ? "true" : "false")
                json.field("push_id", intent.id)
                json.field("expires_at", String(intent.expiresAt.milliseconds))
                json.field("wake_token", wakeToken)
                json.field("custom", intent.custom.map { String(decoding: $0.bytes, as: UTF8.self) })
            }
        }
    }

    private func writeAndroid(_ timeToLive: Int64, to json: inout JSONWriter) {
        json.field("android") { json in
            json.object { json in
                // FCM allows HIGH for messages that the user does not see in apps for calls, and only for calls.
                json.field("priority", intent.purpose == .call ? "HIGH" : "NORMAL")
                json.field("ttl", "\(timeToLive)s")
                json.field("collapse_key", collapseKey)
                if shape == .alert {
                    json.field("notification") { $0.object { $0.field("tag", intent.call) } }
                }
            }
        }
    }

    /// The collapse key: a later message with the same key replaces an undelivered one. FCM keeps four keys for each
    /// device, so with a key for each call the fifth missed call would be lost. A call's data message is never held.
    private var collapseKey: String? {
        switch (shape, intent.purpose) {
        case (.data, .call), (.data, .missedCall): nil
        case (_, .sync): intent.purpose.rawValue
        case (.alert, _), (.iosAlert, _): nil
        }
    }

    private func writeAPNS(_ expiration: Int64, to json: inout JSONWriter) {
        json.field("apns") { json in
            json.object { json in
                json.field("headers") { json in
                    json.object { json in
                        json.field("apns-push-type", "alert")
                        json.field("apns-priority", "10")
                        json.field("apns-expiration", String(expiration))
                        json.field("apns-collapse-id", intent.call)
                    }
                }
                json.field("payload") { json in
                    json.object { APNSPayload.writeAlert(intent, wakeToken: wakeToken, texts: texts, to: &$0) }
                }
            }
        }
    }
}
