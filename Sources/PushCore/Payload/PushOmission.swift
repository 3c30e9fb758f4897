import PushVocabulary

/// Fields left out of a body that would be too long, in the order in which they are left out.
public enum PushOmission: String, Sendable, CaseIterable {
    case custom, name

    /// Leaves out as few fields as needed.
    ///
    /// - Parameter size: the largest size of a body with this content, in bytes.
    /// - Returns: nil when the required fields alone exceed the limit.
    static func fit(
        _ content: PayloadContent, into limit: Int, size: (PayloadContent) -> Int
    ) -> (PayloadContent, omitted: [PushOmission])? {
        var content = content
        var omitted: [PushOmission] = []
        var bytes = size(content)
        if bytes > limit, content.intent.custom != nil {
            content.intent.custom = nil
            omitted.append(.custom)
            bytes = size(content)
        }
        if bytes > limit, content.intent.fromName != nil {
            content.intent.fromName = nil
            omitted.append(.name)
            bytes = size(content)
        }
        return bytes <= limit ? (content, omitted) : nil
    }
}
