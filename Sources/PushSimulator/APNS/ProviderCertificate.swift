import CallVocabulary
import HTTP2
import PushVocabulary
import SwiftASN1
import TLS
import X509

/// The topics and environments of a provider's TLS certificate.
///
/// Apple stores them in its own extensions: 1.2.840.113635.100.6.3.1 and .2 (sandbox, production), .3 (the app's
/// topic), .4 (its VoIP topic), .6 (all topics, each followed by its kinds of push).
struct ProviderCertificate: Equatable {
    var topics: [String] = []
    var environments: Set<PushEnvironment> = []
    /// Whether the simulator's authority issued it, and it is valid now.
    var isTrusted: Bool

    private static let sandbox: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 1]
    private static let production: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 2]
    private static let appTopic: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 3]
    private static let voipTopic: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 4]
    private static let allTopics: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 6]

    init(topics: [String], environments: Set<PushEnvironment>, isTrusted: Bool) {
        self.topics = topics
        self.environments = environments
        self.isTrusted = isTrusted
    }

    /// Parses a certificate; an unreadable one is not trusted.
    init(_ peer: TLSPeerCertificate) {
        guard let certificate = try? Certificate(derEncoded: peer.der) else {
            isTrusted = false
            return
        }
        isTrusted = peer.isTrusted
        let extensions = certificate.extensions
        if extensions[oid: Self.sandbox] != nil { environments.insert(.sandbox) }
        if extensions[oid: Self.production] != nil { environments.insert(.production) }
        if let value = extensions[oid: Self.allTopics]?.value {
            topics = Self.texts(in: value)
        } else {
            topics = [Self.appTopic, Self.voipTopic].flatMap {
                extensions[oid: $0].map { Self.texts(in: $0.value) } ?? []
            }
        }
    }

    /// The reason to refuse a push on `topic`; nil to permit it.
    func refusal(topic: String, environment: PushEnvironment) -> APNSReason? {
        guard isTrusted, !topics.isEmpty else { return .badCertificate }
        guard environments.contains(environment) else { return .badCertificateEnvironment }
        return topics.contains(topic) ? nil : .topicDisallowed
    }

    /// The text of a value, or the texts of a sequence.
    private static func texts(in value: ArraySlice<UInt8>) -> [String] {
        guard let node = try? DER.parse(value) else { return [] }
        switch node.content {
        case .primitive: return (try? ASN1UTF8String(derEncoded: node)).map { [String($0)] } ?? []
        case .constructed(let nodes):
            return nodes.compactMap { (try? ASN1UTF8String(derEncoded: $0)).map { String($0) } }
        }
    }

    static func extensions(bundle: String, environments: Set<PushEnvironment>) throws -> [Certificate.Extension] {
        var found: [Certificate.Extension] = []
        func add(_ oid: ASN1ObjectIdentifier, _ write: (inout DER.Serializer) throws -> Void) rethrows {
            var serializer = DER.Serializer()
            try write(&serializer)
            found.append(Certificate.Extension(oid: oid, critical: false, value: serializer.serializedBytes[...]))
        }
        if environments.contains(.sandbox) { try add(sandbox) { try $0.serialize(ASN1Null()) } }
        if environments.contains(.production) { try add(production) { try $0.serialize(ASN1Null()) } }
        let voip = bundle + APNSPushType.voipSuffix
        try add(appTopic) { try $0.serialize(text(bundle)) }
        try add(voipTopic) { try $0.serialize(text(voip)) }
        try add(allTopics) { serializer in
            try serializer.appendConstructedNode(identifier: .sequence) { list in
                for (topic, kind) in [(bundle, "app"), (voip, "voip"), (bundle + ".complication", "complication")] {
                    try list.serialize(text(topic))
                    try list.appendConstructedNode(identifier: .sequence) { try $0.serialize(text(kind)) }
                }
            }
        }
        return found
    }

    private static func text(_ text: String) -> ASN1UTF8String {
        ASN1UTF8String(contentBytes: Array(text.utf8)[...])
    }
}
