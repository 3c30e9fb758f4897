import CallVocabulary
import PushVocabulary

/// What may be left out of a body that would be too long, in the order it is.
public enum PushOmission: String, Sendable, CaseIterable {
    case custom, name

    /// Leaves out as little as makes the body fit.
    /// - Returns: nil when even the part that cannot be left out is too long.
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
