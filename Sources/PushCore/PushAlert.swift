import CallVocabulary
import PushVocabulary

/// The texts of one alert.
struct PushAlert {
    let title: String
    let body: String

    init(_ intent: PushIntent, texts: AlertTexts) {
        title = intent.fromName ?? intent.from.text
        body =
            switch intent.purpose {
            case .call: intent.video ? texts.incomingVideoCall : texts.incomingCall
            // A sync is never shown.
            case .missedCall, .sync: texts.missedCall
            }
    }
}
