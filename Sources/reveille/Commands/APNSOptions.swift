import ArgumentParser

/// What APNs knows the server by: a key of the team, or certificates of its apps.
struct APNSOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The APNs key, as the developer account gives it out (.p8).", valueName: "file"),
        completion: .file())
    var apnsKey: String?
    @Option(help: "The key's id, 10 characters.")
    var apnsKeyID: String?
    @Option(help: "The team's id, 10 characters.")
    var apnsTeamID: String?
    @Option(
        help: ArgumentHelp(
            "A VoIP Services certificate of one app, in PEM; may be given for several apps. "
                + "Goes before the key for its own topics.", valueName: "file"), completion: .file())
    var apnsCertificate: [String] = []
    @Option(
        help: ArgumentHelp(
            "The private key of each certificate, in their order, unless it is in the same file.", valueName: "file"),
        completion: .file())
    var apnsCertificateKey: [String] = []
    @Option(help: "The port of APNs: 443 (the default), or 2197 where a firewall wants another one.")
    var apnsPort: UInt16?
}
