import CallVocabulary
import PushVocabulary

/// Fields left out of a body that would be too long, in the order in which they are left out.
public enum PushOmission: String, Sendable, CaseIterable {
    case custom, name

    /// Leaves out as few fields as needed.
    /// - Returns: nil when the required fields alone exceed the limit.
    static func fit(
        _ order: PushIntent, into limit: Int, encode: (PushIntent) -> [UInt8]
    ) -> (order: PushIntent, bytes: [UInt8], omitted: [PushOmission])? {
        var order = order
        var omitted: [PushOmission] = []
        var bytes = encode(order)
        if bytes.count > limit, order.custom != nil {
            order.custom = nil
            omitted.append(.custom)
            bytes = encode(order)
        }
        if bytes.count > limit, order.fromName != nil {
            order.fromName = nil
            omitted.append(.name)
            bytes = encode(order)
        }
        return bytes.count <= limit ? (order, bytes, omitted) : nil
    }
}
