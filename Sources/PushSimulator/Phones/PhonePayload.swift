import FoundationEssentials

/// What the phone's system wants of a payload: that it is a JSON object. Anything else APNs takes and iOS drops.
struct PhonePayload {
    /// The call's UUID, if there is one at the top, or in FCM's `data`.
    let uuid: String?

    init?(_ payload: [UInt8]) {
        guard let members = PhoneLinkMessages.decode(JSONValue.self, from: payload)?.members else { return nil }
        uuid = members["uuid"]?.text ?? members["data"]?.members?["uuid"]?.text
    }
}
