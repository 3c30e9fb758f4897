import CallVocabulary
import PushVocabulary
import WireJSON

/// The `messages:send` body of one push. Made at the time of sending, because FCM takes a time to live, not a deadline.
package struct FCMMessage: Equatable, Sendable {
    package enum Shape: Equatable, Sendable {
        /// A data message to an Android app, which wakes it.
        case data
        /// A notification to an Android app, which the system shows.
        case alert
        /// An alert to an iPhone whose APNs token was mapped to an FCM token; same content as over APNs.
        case iosAlert
    }

    /// FCM's limit, in bytes. FCM limits the payload; here the whole body must fit, which is stricter.
    package static let longest = 4096
    /// FCM's longest time to live, four weeks, in seconds.
    static let longestTimeToLive: Int64 = 28 * 24 * 3600

    let shape: Shape
    /// FCM's registration token.
    @Secret private(set) var token: String
    private let content: PayloadContent
    let omitted: [PushOmission]

    /// - Returns: nil when the required fields alone exceed the limit.
    package init?(
        _ shape: Shape, to token: String, _ intent: PushIntent, wakeToken: String, texts: AlertTexts,
        profile: PayloadProfile
    ) {
        let content = PayloadContent(
            profile: profile, part: Self.part(shape, intent.purpose), intent: intent, wakeToken: wakeToken, texts: texts
        )
        let fitted = PushOmission.fit(content, into: Self.longest) { content in
            Self(shape, token, content, omitted: []).largest.count
        }
        guard let fitted else { return nil }
        self.init(shape, token, fitted.0, omitted: fitted.omitted)
    }

    private init(_ shape: Shape, _ token: String, _ content: PayloadContent, omitted: [PushOmission]) {
        self.shape = shape
        self.token = token
        self.content = content
        self.omitted = omitted
    }

    private static func part(_ shape: Shape, _ purpose: PushPurpose) -> PayloadProfile.Part {
        switch (shape, purpose) {
        case (.iosAlert, .call): .alert
        // A sync is never shown.
        case (.iosAlert, .missedCall), (.iosAlert, .sync): .missedCall
        case (.data, .call), (.alert, .call): .data
        case (.data, .missedCall), (.alert, .missedCall): .dataMissedCall
        case (.data, .sync), (.alert, .sync): .dataSync
        }
    }

    private var intent: PushIntent { content.intent }

    /// The body to send at `now`, which must be before the intent expires.
    package func bytes(now: Instant) -> [UInt8] {
        let seconds = (intent.expiresAt - now).wholeMilliseconds / 1000
        return bytes(
            timeToLive: min(max(0, seconds), Self.longestTimeToLive),
            expiration: seconds < 1 ? 0 : intent.expiresAt.wholeSeconds
        ) { content.write(now: now, to: &$0) }
    }

    /// The longest body, whenever it is sent.
    private var largest: [UInt8] {
        bytes(timeToLive: Self.longestTimeToLive, expiration: intent.expiresAt.wholeSeconds) {
            content.writeLargest(to: &$0)
        }
    }

    private func bytes(
        timeToLive: Int64, expiration: Int64, writeContent: (inout JSONWriter) -> Void
    ) -> [UInt8] {
        JSONWriter.bytes { json in
            json.object { json in
                json.field("message") { json in
                    json.object { json in
                        json.field("token", token)
                        switch shape {
                        case .data:
                            json.field("data") { $0.object(writeContent) }
                            writeAndroid(timeToLive, to: &json)
                        case .alert:
                            writeNotification(to: &json)
                            json.field("data") { $0.object(writeContent) }
                            writeAndroid(timeToLive, to: &json)
                        case .iosAlert: writeAPNS(expiration, writeContent, to: &json)
                        }
                    }
                }
            }
        }
    }

    private func writeNotification(to json: inout JSONWriter) {
        json.field("notification") { json in
            json.object { json in
                json.field("title", intent.fromName ?? intent.from.text)
                json.field("body", content.texts.body(for: intent))
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

    private func writeAPNS(
        _ expiration: Int64, _ writeContent: (inout JSONWriter) -> Void, to json: inout JSONWriter
    ) {
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
                json.field("payload") { $0.object(writeContent) }
            }
        }
    }
}
