import CallVocabulary
import PushVocabulary

/// Fields left out of a body that would be too long, in the order in which they are left out.
public enum PushOmission: String, Sendable, CaseIterable {
    case custom, name

    /// Leaves out as few fields as needed.
    /// - Returns: nil when the required fields alone exceed the limit.
    static func fit(
        _ intent: PushIntent, into limit: Int, encode: (PushIntent) -> [UInt8]
    ) -> (intent: PushIntent, bytes: [UInt8], omitted: [PushOmission])? {
        var intent = intent
        var omitted: [PushOmission] = []
        var bytes = encode(intent)
        if bytes.count > limit, intent.custom != nil {
            intent.custom = nil
            omitted.append(.custom)
            bytes = encode(intent)
        }
        if bytes.count > limit, intent.fromName != nil {
            intent.fromName = nil
            omitted.append(.name)
            bytes = encode(intent)
        }
        return bytes.count <= limit ? (intent, bytes, omitted) : nil
    }
}
