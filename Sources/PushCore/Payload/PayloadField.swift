import CallVocabulary
import PushVocabulary
import WireJSON

/// A value that a payload template can name, as `${call_id}`.
enum PayloadField: String, Sendable, CaseIterable {
    case callID = "call_id"
    /// The callee.
    case user
    /// The caller.
    case handle
    /// `phone`, `email` or `generic`, as CallKit tells handles apart.
    case handleType = "handle_type"
    /// The caller's name; absent when the caller has none, or when the payload would be too large.
    case name
    /// The caller's name, or else the handle.
    case displayName = "display_name"
    /// The group or the alias that was called; absent for a call to the callee's own handle.
    case to
    /// The handle's type in the words of flutter-webrtc's callkeep: `number`, `email` or `generic`.
    case callerIDType = "caller_id_type"
    /// The caller as a positive 32-bit number: the handle itself, or its hash.
    case callerNumber = "caller_number"
    /// The same for the callee.
    case userNumber = "user_number"
    /// A boolean.
    case hasVideo = "has_video"
    case pushID = "push_id"
    case wakeToken = "wake_token"
    /// Milliseconds since the epoch, by the server's clock.
    case expiresAt = "expires_at"
    /// Whole seconds from the sending of the push to ``expiresAt``, for phones whose clock is wrong.
    case expiresIn = "expires_in"
    /// The same in milliseconds.
    case expiresInMilliseconds = "expires_in_ms"
    /// The invite's `custom`, any JSON; absent without one, or when the payload would be too large.
    case custom
    /// `call`, `missed_call` or `sync`.
    case type
    /// The number of unseen missed calls.
    case missed
    /// The configured text of an alert.
    case alertText = "alert_text"
}

/// The value of a placeholder in one push.
enum PayloadValue {
    case text(String)
    case number(Int64)
    case flag(Bool)
    case json(RawJSON)

    func write(to json: inout JSONWriter) {
        switch self {
        case .text(let text): json.string(text)
        case .number(let number): json.integer(number)
        case .flag(let flag): json.bool(flag)
        case .json(let raw): json.raw(raw)
        }
    }

    /// The value within a text.
    var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): String(number)
        case .flag(let flag): flag ? "true" : "false"
        case .json(let raw): raw.json
        }
    }
}

/// The values of one push, for its payload.
struct PayloadValues {
    /// The longest time from the sending of a push to its expiration: FCM's longest time to live, in milliseconds.
    static let longestLeft = FCMMessage.longestTimeToLive * 1000

    var intent: PushIntent
    var wakeToken: String
    var texts: AlertTexts
    /// From the sending of the push to its expiration, in milliseconds; not negative.
    var millisecondsLeft: Int64

    /// - Returns: nil for a value that this push does not have.
    func value(of field: PayloadField) -> PayloadValue? {
        switch field {
        case .callID: .text(intent.call.description)
        case .user: .text(intent.user.text)
        case .handle: .text(intent.from.text)
        case .handleType: .text(intent.from.kind.rawValue)
        case .name: intent.fromName.map { .text($0) }
        case .displayName: .text(intent.fromName ?? intent.from.text)
        case .to: intent.calledName.map { .text($0) }
        case .callerIDType: .text(intent.from.kind == .phone ? "number" : intent.from.kind.rawValue)
        case .callerNumber: .number(intent.from.number)
        case .userNumber: .number(intent.user.number)
        case .hasVideo: .flag(intent.video)
        case .pushID: .text(intent.id.description)
        case .wakeToken: .text(wakeToken)
        case .expiresAt: .number(intent.expiresAt.milliseconds)
        case .expiresIn: .number(millisecondsLeft / 1000)
        case .expiresInMilliseconds: .number(millisecondsLeft)
        case .custom: intent.custom.map { .json($0) }
        case .type: .text(intent.purpose.rawValue)
        case .missed: .number(Int64(intent.missedCount))
        case .alertText: .text(texts.body(for: intent))
        }
    }
}

extension AlertTexts {
    func body(for intent: PushIntent) -> String {
        switch intent.purpose {
        case .call: intent.video ? incomingVideoCall : incomingCall
        // A sync is never shown.
        case .missedCall, .sync: missedCall
        }
    }
}

extension Handle {
    /// The handle as a positive `Int32`, or a 31-bit hash of it (FNV-1a): ConnectyCube's plugin takes no other caller.
    fileprivate var number: Int64 {
        if let number = Int32(digits: text, in: 1...Int32.max), "\(number)" == text { return Int64(number) }
        let hash = text.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return max(1, Int64(hash >> 33))
    }
}
