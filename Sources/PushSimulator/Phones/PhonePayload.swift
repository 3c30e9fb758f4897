import FoundationEssentials

/// The parts of a payload the phone's system reads. It must be a JSON object: APNs accepts others, and iOS drops them.
struct PhonePayload {
    /// The call's UUID at the top level or in FCM's `data`.
    let uuid: String?

    init?(_ payload: [UInt8]) {
        guard let members = PhoneLinkMessages.decode(JSONValue.self, from: payload)?.members else { return nil }
        uuid = members["uuid"]?.text ?? members["data"]?.members?["uuid"]?.text
    }
}
