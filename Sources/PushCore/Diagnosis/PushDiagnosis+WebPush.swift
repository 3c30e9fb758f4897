import CallVocabulary

extension PushDiagnosis {
    /// Explains the refusal of a Web Push service.
    /// - Parameter reason: `HTTP 403: BadJwtToken`, with the service's words if it gave any.
    static func webPush(refused reason: String) -> PushDiagnosis {
        let words = WebPushErrorWords(Array(reason.utf8))
        guard !words.namesOtherKey else {
            return PushDiagnosis(
                "The subscription was made with another key than the server's (\(reason.clause)).",
                [
                    "The page must subscribe again, with the key in the result of session.open (webpush.key).",
                    "Was push.webpush.key changed, or webpush.key in the data folder lost? Then all subscriptions are void.",
                ])
        }
        switch Int(digits: reason.dropFirst(5).prefix(3), in: 100...999) {
        case 404, 410:
            return PushDiagnosis(
                "The subscription is gone (\(reason.clause)): the user blocked notifications, or the browser dropped it.",
                ["The page subscribes again at its next visit."])
        case 401, 403:
            return PushDiagnosis(
                "The push service does not accept the sender (\(reason.clause)).",
                [
                    "Is this machine's clock right? The VAPID token has an expiry.",
                    "Is push.webpush.subject a mailto: or https: address that exists? Apple refuses others.",
                    "The subscription may be made with another key than the server's.",
                ])
        case 413:
            return PushDiagnosis(
                "The push service finds the message too large (\(reason.clause)).", ["Send less in the call's custom."])
        case 406, 429:
            return PushDiagnosis(
                "Too many pushes to this browser, or of this server (\(reason.clause)).",
                ["The service takes them again later. Does something call in a loop?"])
        default:
            return PushDiagnosis(
                "The push service refused the push (\(reason.clause)).",
                ["An HTTP status alone mostly comes from a proxy on the way."])
        }
    }
}
