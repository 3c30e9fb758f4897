import CallServer
import CallVocabulary
import EventLoop
import LibWebSockets
import PushClient
import StoreInterface
import TLS
import WebSocketServer

/// Builds the server's configuration from the settings, and collects all faults.
struct ConfigurationBuilder {
    let settings: EffectiveSettings
    let sources: SettingsSources
    let simulator: SettingsLoader.Simulator
    var files = SettingsFiles()
    /// See ``LoadedSettings/areBlank``.
    var areBlank: [String: Bool] = [:]
    private(set) var faults: [SettingsFault] = []
    /// What was said of folders: several files are in one.
    private var toldFolders: Set<String> = []

    init(settings: EffectiveSettings, sources: SettingsSources, simulator: @escaping SettingsLoader.Simulator) {
        self.settings = settings
        self.sources = sources
        self.simulator = simulator
    }

    /// Valid only if there are no faults except warnings.
    mutating func configuration() -> ServerConfiguration {
        let tls = tlsIdentity()
        var configuration = ServerConfiguration(address: address(tls: tls), data: data)
        configuration.database = database()
        warnOfSettingsFile()
        warnOfFile(with: .token)
        configuration.tls = tls
        if let shards = settings.integer(.shards) { configuration.shards = shards }
        configuration.node = settings.text(.node) ?? configuration.node
        configuration.admin = admin(beside: configuration.address, tls: tls)
        configuration.metrics = metrics(beside: configuration, tls: tls)
        configuration.push = push()
        configuration.tokens = tokens()
        configuration.webhooks = webhooks()
        configuration.backendTokens = backendTokens()
        configuration.turn = turn()
        configuration.authorization = authorization()
        configuration.timers = settings.timers
        configuration.policy = settings.policy
        configuration.maxConnections = settings.integer(.connections) ?? configuration.maxConnections
        configuration.maxConnectionsPerAddress = settings.integer(.connectionsPerAddress)
        configuration.maxUnreadBytes = settings.integer(.unreadBytes) ?? configuration.maxUnreadBytes
        configuration.proxies = TrustedProxies(
            addresses: proxies(), sendHeaders: settings.flag(.listenProxyProtocol))
        configuration.origins = origins()
        if let pages = pages() { configuration.pages = pages }
        configuration.signsInByName = signsInByName(at: configuration.address)
        configuration.connectionLimits = settings.connectionLimits
        configuration.rates = settings.rates
        configuration.limits = settings.limits
        configuration.retention = RetentionPolicy(
            calls: settings.days(.retentionCalls), pushes: settings.days(.retentionPushes),
            missed: settings.days(.retentionMissed),
            events: settings.days(.retentionEvents) ?? RetentionPolicy.standardEvents)
        return configuration
    }

    var data: DataFolder { settings.text(.data).map { DataFolder(path: $0) } ?? sources.dataFolder }
    /// The push simulator's data folder.
    var simulatorFolder: String { settings.text(.pushSimulatorData) ?? data.path + "/push-sim" }

    mutating func fault(_ setting: Setting, _ reason: String, _ advice: String) {
        fault(.value, setting, reason, advice)
    }

    mutating func fault(_ kind: SettingsFault.Kind, _ setting: Setting, _ reason: String, _ advice: String? = nil) {
        faults.append(SettingsFault(kind, at: settings[setting].origin, key: setting.key, reason, advice))
    }

    /// The text of a file that a setting names; nil, with a fault, when it cannot be read.
    /// Warns when every user may write the file, or replace it.
    /// - Parameter isPrivate: warns when they may read it, too.
    mutating func file(_ path: String, _ setting: Setting, isPrivate: Bool) -> String? {
        do {
            let file = try files.read(path, for: setting)
            warn(of: path, file.permissions, setting, isPrivate ? Self.rights : [Self.writing])
            for exposure in exposures(ofFoldersOf: path) { fault(.warning, setting, exposure) }
            return file.text
        } catch {
            fault(setting, error.reason, error.advice)
            return nil
        }
    }

    /// What every user may do with a file, and its letter for chmod.
    private typealias Right = (verb: String, bit: Int, letter: String)
    private static let reading: Right = ("read", 0o004, "r")
    private static let writing: Right = ("written", 0o002, "w")
    private static let rights = [reading, writing]

    private mutating func warn(of path: String, _ permissions: Int, _ setting: Setting, _ rights: [Right]) {
        for right in rights where permissions & right.bit != 0 {
            let (reason, advice) = Self.words(right, path)
            fault(.warning, setting, reason, advice)
        }
    }

    private static func words(_ right: Right, _ path: String) -> (reason: String, advice: String) {
        (
            "\(path) can be \(right.verb) by every user of this machine",
            "remove that right: chmod o-\(right.letter) \(path)"
        )
    }

    /// Who can write the settings file chooses whose tokens and which programs the server trusts.
    private mutating func warnOfSettingsFile() {
        guard let path = sources.path else { return }
        func warn(_ reason: String, _ advice: String? = nil) {
            faults.append(SettingsFault(.warning, at: .file(path: path, line: 1), key: nil, reason, advice))
        }
        if SettingsFiles.permissions(of: path) & Self.writing.bit != 0 {
            let (reason, advice) = Self.words(Self.writing, path)
            warn(reason, advice)
        }
        for exposure in exposures(ofFoldersOf: path) { warn(exposure) }
    }

    private mutating func exposures(ofFoldersOf path: String) -> [String] {
        DataFolder.exposures(ofFoldersOf: path).filter { toldFolders.insert($0).inserted }
    }

    /// Warns when every user can read the settings file that has a secret.
    private mutating func warnOfFile(with secret: Setting) {
        guard case .file(let path, _) = settings[secret].origin else { return }
        warn(of: path, SettingsFiles.permissions(of: path), secret, [Self.reading])
    }

    private mutating func database() -> PostgresAddress? {
        if let data = settings.text(.data), PostgresAddress.isMeant(by: data) {
            fault(.data, "this is the address of a database", "give it in the setting store, and a folder here")
        }
        let realm = settings.text(.realm) ?? PostgresAddress.standardRealm
        if !PostgresAddress.isRealm(realm) {
            fault(
                .realm, "\(ShownText.quoted(realm)) is no name of a realm", "give one of \(PostgresAddress.realmRule)")
        }
        guard let uri = settings.text(.store) else {
            for setting in [Setting.realm, .storeUnencryptedDatabase] where settings.isSet(setting) {
                fault(
                    .warning, setting, "there is no database that it would be of",
                    "give the setting store, or take this away")
            }
            return nil
        }
        guard PostgresAddress.isAddress(uri) else {
            fault(
                .store, "the value is no address of a PostgreSQL database",
                "give one such as postgres://reveille@db.example.org/reveille, or leave it out to keep all in a folder")
            return nil
        }
        // A realm that is none was named above.
        let schema = PostgresAddress.isRealm(realm) ? realm : PostgresAddress.standardRealm
        guard let address = settings.database(uri, realm: schema) else {
            fault(.store, PostgresAddress.unreadable, PostgresAddress.encodingAdvice)
            return nil
        }
        if address.hasPassword {
            switch settings[.store].origin {
            case .flag: fault(.store, PostgresAddress.passwordInArguments, PostgresAddress.passwordAdvice)
            case .file, .environment, .standard: warnOfFile(with: .store)
            }
        }
        if let host = address.exposedHost({ sources.environment[$0] }) {
            let (reason, advice) = PostgresAddress.exposure(of: host)
            fault(.store, reason, advice)
        }
        return address
    }

    // MARK: Listening

    private mutating func address(tls: TLSFiles?) -> SocketAddress {
        let host = settings.text(.listenHost) ?? "127.0.0.1"
        let port = UInt16(clamping: settings.integer(.listenPort) ?? Int(ServerConfiguration.standardPort))
        guard let address = SocketAddress(host: host, port: port) else {
            fault(
                .listenHost, "\(ShownText.quoted(host)) is neither a numeric address nor localhost",
                "give one such as 127.0.0.1 or ::1")
            // The standard host is one.
            return SocketAddress(host: "127.0.0.1", port: port)!
        }
        if !address.isLoopback, tls == nil, !settings.isSet(.tlsCertificate), !settings.flag(.listenInsecure) {
            fault(
                .listenHost,
                "\(host) can be reached from other machines, and this would be plain ws://",
                "give tls.certificate and tls.key, or put a TLS proxy in front and say listen.insecure (--insecure), "
                    + "or listen on 127.0.0.1")
        }
        return address
    }

    private mutating func proxies() -> [AddressRange] {
        var ranges: [AddressRange] = []
        for part in (settings.text(.listenProxies) ?? "").split(separator: ",", omittingEmptySubsequences: true) {
            let text = part.filter { $0 != " " }
            if let range = AddressRange(text) {
                ranges.append(range)
            } else {
                fault(
                    .listenProxies, "\(ShownText.quoted(text)) is no address and no range of them",
                    "give numeric addresses with commas between them, such as 10.0.0.5, 10.1.0.0/16, fd00::/8")
            }
        }
        if ranges.isEmpty, settings.flag(.listenProxyProtocol) {
            fault(
                .warning, .listenProxyProtocol, "no proxy is named that could send a header",
                "name the proxies in listen.proxies, or take this away")
        }
        return ranges
    }

    private mutating func origins() -> AllowedOrigins {
        let text = settings.text(.listenOrigins) ?? "any"
        if let origins = AllowedOrigins(text) { return origins }
        fault(
            .listenOrigins, "\(ShownText.quoted(text)) is no list of origins",
            "give any, or origins with commas between them, such as https://app.example.com, http://localhost:8080")
        return .any
    }

    private mutating func admin(beside clients: SocketAddress, tls: TLSFiles?) -> AdminListenerConfiguration? {
        guard settings.isSet(.adminListen) else {
            if settings.isSet(.adminTokenFile) {
                fault(.adminTokenFile, "there is no admin.listen that would ask for the token", "give both, or neither")
            }
            for setting in [Setting.adminReadTokenFile, .adminClientCA, .adminClientNames] where settings.isSet(setting)
            {
                fault(setting, "there is no admin.listen that it would be for", "give both, or neither")
            }
            return nil
        }
        let token = adminToken()
        let (authorities, names) = (clientAuthorities(), clientNames())
        let readToken = settings.isSet(.adminReadTokenFile) ? self.token(in: .adminReadTokenFile) : nil
        // Not there: it was given, and its fault is known.
        guard let text = settings.text(.adminListen), let address = SocketAddress(text: text) else { return nil }
        if !address.isLoopback, tls == nil, !settings.isSet(.tlsCertificate), !settings.flag(.listenInsecure) {
            fault(
                .adminListen, "\(text) can be reached from other machines, and the token would go there unencrypted",
                "give tls.certificate and tls.key, or listen on 127.0.0.1")
        }
        if address.port != 0, "\(address)" == "\(clients)" {
            fault(.adminListen, "\(text) is where clients connect", "choose another port")
        }
        return token.map {
            var listener = AdminListenerConfiguration(address: address, token: $0, tls: tls)
            listener.isInsecure = settings.flag(.listenInsecure)
            listener.readToken = readToken
            listener.clientAuthorities = authorities
            listener.clientNames = names
            return listener
        }
    }

    private mutating func metrics(
        beside others: ServerConfiguration, tls: TLSFiles?
    ) -> MetricsListenerConfiguration? {
        guard let text = settings.text(.metricsListen), let address = SocketAddress(text: text) else { return nil }
        let isOptional = !settings.isSet(.metricsListen)
        if !address.isLoopback, tls == nil, !settings.isSet(.tlsCertificate), !settings.flag(.listenInsecure) {
            fault(
                .metricsListen, "\(text) can be reached from other machines, and this would be plain http://",
                "give tls.certificate and tls.key, or say listen.insecure, or listen on 127.0.0.1")
        }
        if !isOptional, address.port != 0 {
            if "\(address)" == "\(others.address)" {
                fault(.metricsListen, "\(text) is where clients connect", "choose another port")
            } else if let admin = others.admin, "\(address)" == "\(admin.address)" {
                fault(.metricsListen, "\(text) is where administrators connect", "choose another port")
            }
        }
        return MetricsListenerConfiguration(
            address: address, tls: address.isLoopback ? nil : tls, isOptional: isOptional)
    }

    private mutating func adminToken() -> String? {
        guard settings.isSet(.adminTokenFile) else {
            fault(
                .adminListen, "needs admin.token_file",
                "make one with: openssl rand -hex 32 > FILE, readable by the server only")
            return nil
        }
        return token(in: .adminTokenFile)
    }

    /// Authorities of administrators' certificates.
    private mutating func clientAuthorities() -> String? {
        guard let path = settings.text(.adminClientCA) else { return nil }
        guard settings.isSet(.tlsCertificate) else {
            fault(.adminClientCA, "without TLS no client shows a certificate", "give tls.certificate and tls.key")
            return nil
        }
        guard file(path, .adminClientCA, isPrivate: false) != nil else { return nil }
        do throws(TLSCertificate.Failure) {
            warnOfAuthorities(try ClientAuthorities(file: path).list, path: path)
        } catch {
            fault(.content, .adminClientCA, "\(error)", "give a file with the authorities' certificates in PEM")
        }
        return path
    }

    private mutating func clientNames() -> [String] {
        guard let text = settings.text(.adminClientNames) else { return [] }
        if !settings.isSet(.adminClientCA) {
            fault(.adminClientNames, "needs admin.client_ca", "give both, or neither")
        }
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { part in
            var name = part.drop { $0 == " " }
            while name.last == " " { name.removeLast() }
            return String(name)
        }
        guard names.allSatisfy({ !$0.isEmpty }) else {
            fault(
                .adminClientNames, "\(ShownText.quoted(text)) is no list of names",
                "give names with commas between them")
            return []
        }
        return names
    }

    private mutating func token(in setting: Setting) -> String? {
        guard let path = settings.text(setting),
            let text = file(path, setting, isPrivate: true)
        else { return nil }
        let lines = text.split(whereSeparator: \.isNewline)
        guard lines.count == 1, BearerToken(String(lines[0])) != nil else {
            let fewest = BearerToken.fewestCharacters
            fault(
                .content, setting,
                "\(path) does not hold one line of \(fewest) characters or more, of A-Z a-z 0-9 - . _ ~ + / =",
                "make one with: openssl rand -hex 32 > \(path)")
            return nil
        }
        return String(lines[0])
    }
}
