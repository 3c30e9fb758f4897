import CallVocabulary

// JSON coding of the vocabulary's types as strings, with the validation of the signaling protocol.

extension Handle: Codable {
    /// Accepts handles that predate the present validation rule, because the server may store such handles. A handle
    /// that a request adds is validated where it is added.
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
extension EventKind: Codable {}
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
