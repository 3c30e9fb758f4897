import FoundationEssentials

/// What the phone's system wants of a payload: that it is a JSON object. Anything else APNs takes and iOS drops.
struct PhonePayload: Decodable {
    /// The call's UUID, if there is one at the top.
    let uuid: String?

    private enum CodingKeys: String, CodingKey {
        case uuid
    }

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: CodingKeys.self)
        uuid = try? object.decode(String.self, forKey: .uuid)
    }

    init?(_ payload: [UInt8]) {
        guard let read = try? JSONDecoder().decode(Self.self, from: Data(payload)) else { return nil }
        self = read
    }
}
