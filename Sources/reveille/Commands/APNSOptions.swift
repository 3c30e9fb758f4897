import ArgumentParser
import CallVocabulary
import Foundation
import PushClient

/// What APNs knows the server by: a key of the team, or certificates of its apps.
struct APNSOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The APNs key, as the developer account gives it out (.p8).", valueName: "file"))
    var apnsKey: String?
    @Option(help: "The key's id, 10 characters.")
    var apnsKeyID: String?
    @Option(help: "The team's id, 10 characters.")
    var apnsTeamID: String?
    @Option(
        help: ArgumentHelp(
            "A VoIP Services certificate of one app, in PEM; may be given for several apps. "
                + "Goes before the key for its own topics.", valueName: "file"))
    var apnsCertificate: [String] = []
    @Option(
        help: ArgumentHelp(
            "The private key of each certificate, in their order, unless it is in the same file.", valueName: "file"))
    var apnsCertificateKey: [String] = []
    @Option(help: "The port of APNs: 443, or 2197 where a firewall wants another one.")
    var apnsPort: UInt16 = 443

    var isGiven: Bool { apnsKey != nil || !apnsCertificate.isEmpty }

    func validate() throws {
        let key = [apnsKey, apnsKeyID, apnsTeamID].compactMap { $0 }
        guard key.isEmpty || key.count == 3 else {
            throw ValidationError("--apns-key, --apns-key-id and --apns-team-id go together.")
        }
        guard apnsCertificateKey.isEmpty || apnsCertificateKey.count == apnsCertificate.count else {
            throw ValidationError("--apns-certificate-key is given once for each --apns-certificate, or not at all.")
        }
    }

    /// One endpoint for each environment and credential.
    /// - Throws: `PushConfigurationError` or `ValidationError`, which name the file.
    func endpoints() throws -> [APNSEndpoint] {
        var credentials: [(APNSEndpoint.Credential, Set<PushEnvironment>)] = []
        for (index, file) in apnsCertificate.enumerated() {
            let keyFile = apnsCertificateKey.isEmpty ? nil : apnsCertificateKey[index]
            let certificate = try APNSCertificate(
                certificatePEM: try ConfigurationFile.text(file, option: "--apns-certificate"),
                keyPEM: try keyFile.map { try ConfigurationFile.text($0, option: "--apns-certificate-key") },
                source: file)
            credentials.append((.certificate(certificate), certificate.environments))
        }
        if let apnsKey, let apnsKeyID, let apnsTeamID {
            let pem = try ConfigurationFile.text(apnsKey, option: "--apns-key")
            credentials.append(
                (.key(APNSKey(pem: pem, keyID: apnsKeyID, teamID: apnsTeamID)), Set(PushEnvironment.allCases)))
        }
        return credentials.flatMap { credential, environments in
            PushEnvironment.allCases.filter(environments.contains).map {
                APNSEndpoint(environment: $0, port: apnsPort, credential: credential)
            }
        }
    }
}
