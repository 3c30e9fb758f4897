import ArgumentParser

/// The credentials for APNs: a key of the team, or certificates of its apps.
struct APNSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The APNs key (.p8) from the Apple developer account.", valueName: "file"),
        completion: .file())
    var apnsKey: String?
    @Option(help: "The key's id, 10 characters.")
    var apnsKeyID: String?
    @Option(help: "The team's id, 10 characters.")
    var apnsTeamID: String?
    @Option(
        help: ArgumentHelp(
            "A VoIP Services certificate of one app, in PEM. Repeat it for several apps. "
                + "It takes precedence over the key for its topics.", valueName: "file"), completion: .file())
    var apnsCertificate: [String] = []
    @Option(
        help: ArgumentHelp(
            "The private key of each certificate, in the same order, unless it is in the certificate file.",
            valueName: "file"),
        completion: .file())
    var apnsCertificateKey: [String] = []
    @Option(help: "The port of APNs: 443 (default), or 2197 if a firewall blocks 443.")
    var apnsPort: UInt16?
}
