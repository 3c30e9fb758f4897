import CallVocabulary
import PushVocabulary

/// The texts of one alert.
struct PushAlert {
    let title: String
    let body: String

    init(_ order: PushIntent, texts: AlertTexts) {
        title = order.fromName ?? order.from.text
        body =
            switch order.purpose {
            case .call: order.video ? texts.incomingVideoCall : texts.incomingCall
            // A sync is never shown.
            case .missedCall, .sync: texts.missedCall
            }
    }
}
