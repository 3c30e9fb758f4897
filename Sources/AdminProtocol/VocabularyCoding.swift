import CallVocabulary

// The words of the vocabulary as JSON has them: strings, with the same rules as on the way in.

extension Handle: Codable {
    /// A handle that the server knows may be older than the rule, also in a request about it. What a request adds is
    /// checked by the rule where it is added.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let handle = Handle(known: try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container,
                debugDescription: "expected 1 to \(Handle.longest) bytes without spaces or control characters")
        }
        self = handle
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension Identifier: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let identifier = Identifier(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected a UUID")
        }
        self = identifier
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension IDPart: Codable {
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let part = IDPart(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected a UUID, or at least \(IDPart.fewestDigits) digits of one")
        }
        self = part
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}

extension CallState: Codable, CodingKeyRepresentable {}
extension EndReason: Codable, CodingKeyRepresentable {}
extension Platform: Codable {}
extension PushProvider: Codable {}
extension PushKind: Codable {}
extension PushEnvironment: Codable {}
extension PushPurpose: Codable {}
extension PushDelivery: Codable {}
extension ProviderStatus: Codable, CodingKeyRepresentable {}
extension ReportStatus: Codable, CodingKeyRepresentable {}
extension DeclinePolicy: Codable {}
extension MissedCallPush: Codable {}
extension CallGroup.Strategy: Codable {}
