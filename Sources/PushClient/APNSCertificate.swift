import CallVocabulary
import Foundation
import HTTP2
import SwiftASN1
import TLS
import X509

/// A client certificate for APNs, as issued for one app (`VoIP Services Certificate`).
public struct APNSCertificate: Sendable {
    public let identity: TLSIdentity
    /// The topics that the certificate permits.
    public let topics: Set<String>
    /// The environments that the certificate permits.
    public let environments: Set<PushEnvironment>
    public let expiresAt: Instant

    /// - Parameters:
    ///   - certificatePEM: the certificate, optionally followed by intermediate certificates and its key.
    ///   - keyPEM: its private key, unencrypted; nil when it is in `certificatePEM`.
    ///   - source: the file's name, for errors.
    /// - Throws: ``PushConfigurationError`` when it is unusable with APNs.
    public init(certificatePEM: String, keyPEM: String? = nil, source: String = "APNs certificate") throws {
        let key = keyPEM ?? certificatePEM
        guard key.contains("PRIVATE KEY-----") else {
            throw PushConfigurationError(
                source: source, field: "key", problem: "the certificate is of no use without its private key, in PEM")
        }
        let certificate: Certificate
        do {
            certificate = try Certificate(pemEncoded: try Self.firstCertificate(certificatePEM))
        } catch {
            throw PushConfigurationError(
                source: source, field: "certificate",
                problem: "this is no certificate in PEM (from a .p12: \(Self.hint))")
        }
        let identity = TLSIdentity(certificateChainPEM: certificatePEM, privateKeyPEM: key)
        do {
            _ = try TLSClientContext(trust: .certificateAuthorityPEM(certificatePEM), identity: identity)
        } catch {
            throw PushConfigurationError(
                source: source, field: "key", problem: "certificate and private key cannot be used together: \(error)")
        }
        let topics = Self.topics(of: certificate)
        guard !topics.isEmpty else {
            throw PushConfigurationError(
                source: source, field: "certificate",
                problem: "it names no topic: it is not a push certificate of the developer account")
        }
        self.identity = identity
        self.topics = topics
        environments = Self.environments(of: certificate)
        expiresAt = Instant(
            milliseconds: Int64((certificate.notValidAfter.timeIntervalSince1970 * 1000).rounded(.down)))
    }

    private static let hint = "openssl pkcs12 -in FILE -nodes -legacy"

    private static func firstCertificate(_ pem: String) throws -> String {
        let begin = "-----BEGIN CERTIFICATE-----"
        let end = "-----END CERTIFICATE-----"
        guard let start = pem.range(of: begin), let stop = pem.range(of: end, range: start.upperBound..<pem.endIndex)
        else { throw PushConfigurationError(problem: "no certificate") }
        return String(pem[start.lowerBound..<stop.upperBound])
    }
}

/// Apple's certificate extensions (Apple Worldwide Developer Relations certification practice statement, 4.11).
extension APNSCertificate {
    private static let development: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 1]
    private static let production: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 2]
    private static let voipServices: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 4]
    private static let topicList: ASN1ObjectIdentifier = [1, 2, 840, 113_635, 100, 6, 3, 6]
    /// `UID` of the subject: the bundle id, or its `.voip` topic. Older certificates contain the topic only here.
    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]

    private static func topics(of certificate: Certificate) -> Set<String> {
        var topics: Set<String> = []
        for extensionID in [topicList, voipServices] {
            guard let value = certificate.extensions[oid: extensionID]?.value else { continue }
            topics.formUnion(strings(in: value))
        }
        guard topics.isEmpty else { return topics }
        for attribute in certificate.subject.flatMap({ $0 }) where attribute.type == userID {
            topics.insert(String(describing: attribute.value))
        }
        return topics
    }

    /// The topics in the extension's list: strings, each followed by a sequence of the supported push kinds (`app`,
    /// `voip`). Or the single string that is the whole value.
    private static func strings(in value: ArraySlice<UInt8>) -> [String] {
        guard let root = try? DER.parse(Array(value)) else { return [] }
        if let text = try? ASN1UTF8String(derEncoded: root) { return [String(text)] }
        guard case .constructed(let nodes) = root.content else { return [] }
        return nodes.compactMap { node in
            (try? ASN1UTF8String(derEncoded: node)).map { String($0) }
        }
    }

    private static func environments(of certificate: Certificate) -> Set<PushEnvironment> {
        var environments: Set<PushEnvironment> = []
        if certificate.extensions[oid: development] != nil { environments.insert(.sandbox) }
        if certificate.extensions[oid: production] != nil { environments.insert(.production) }
        // VoIP Services certificates have neither extension and permit both environments.
        return environments.isEmpty ? Set(PushEnvironment.allCases) : environments
    }
}
