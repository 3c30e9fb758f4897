import CallVocabulary
import PushVocabulary
import WireJSON

/// The content of one push: a part of a profile, and the values for it. It becomes JSON when the push is sent, because
/// it tells the seconds that are left then.
struct PayloadContent: Equatable, Sendable {
    let profile: PayloadProfile
    let part: PayloadProfile.Part
    var intent: PushIntent
    @Secret private(set) var wakeToken: String
    let texts: AlertTexts

    /// Writes the members of the object.
    func write(now: Instant, to json: inout JSONWriter) {
        write(millisecondsLeft: max(0, (intent.expiresAt - now).wholeMilliseconds), to: &json)
    }

    /// The object with the longest number of seconds left.
    var largest: [UInt8] {
        JSONWriter.bytes { json in json.object { writeLargest(to: &$0) } }
    }

    /// Writes the members of the object, with the longest number of seconds left.
    func writeLargest(to json: inout JSONWriter) {
        write(millisecondsLeft: PayloadValues.longestLeft, to: &json)
    }

    private func write(millisecondsLeft: Int64, to json: inout JSONWriter) {
        let values = PayloadValues(
            intent: intent, wakeToken: wakeToken, texts: texts, millisecondsLeft: millisecondsLeft)
        profile[part].write(values, to: &json)
    }
}
