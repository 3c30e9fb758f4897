import CallServer
import CallVocabulary
import Foundation
import PushClient
import PushCore

/// The push endpoints and credentials.
extension ConfigurationBuilder {
    /// Advice for missing credentials, when a push cannot be sent.
    static let credentialsHint =
        "start the server with --apns-key, --apns-certificate, --fcm-service-account, --webpush-subject or --push-sim, "
        + "or configure push.apns.key, push.apns.certificate, push.fcm.service_account or push.webpush.subject and "
        + "send it SIGHUP"

    mutating func push() -> PushService.Configuration {
        var push = endpoints()
        push.mapsIOSAlerts = settings.flag(.fcmIOSAlerts)
        push.texts.incomingCall = settings.text(.incomingCallText) ?? push.texts.incomingCall
        push.texts.incomingVideoCall = settings.text(.incomingVideoCallText) ?? push.texts.incomingVideoCall
        push.texts.missedCall = settings.text(.missedCallText) ?? push.texts.missedCall
        push.profiles = profiles()
        push.credentialsHint = Self.credentialsHint
        // As a whole, once the parts are sound: what it says of the parts would be said twice.
        guard !faults.contains(where: { !$0.isWarning && $0.key?.hasPrefix("push.") == true }) else { return push }
        do {
            try push.check()
        } catch {
            let isOfAlerts = push.mapsIOSAlerts && push.fcm.isEmpty
            fault(.content, isOfAlerts ? .fcmIOSAlerts : credential, "\(error)")
        }
        return push
    }

    private mutating func profiles() -> PayloadProfiles {
        var profiles = PayloadProfiles()
        for path in settings.list(.pushTemplates) {
            guard let json = file(path, .pushTemplates, isPrivate: false) else { continue }
            let file = path.split(separator: "/").last ?? ""
            let name = file.hasSuffix(".json") ? String(file.dropLast(5)) : String(file)
            guard PayloadProfile.isName(name) else {
                fault(
                    .pushTemplates, "'\(name)' is not a name for a profile",
                    "rename \(path): \(PayloadProfile.nameRule)")
                continue
            }
            do {
                guard profiles.add(try PayloadProfile(name: name, json: Array(json.utf8))) else {
                    fault(.pushTemplates, "there is a profile \(name) already", "rename \(path)")
                    continue
                }
            } catch {
                fault(.content, .pushTemplates, "\(path): \(error)")
            }
        }
        for pair in (settings.text(.pushProfiles) ?? "").split(separator: ",") {
            let parts = pair.split(separator: "=", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } }
            guard parts.count == 2, !parts[0].isEmpty else {
                fault(
                    .pushProfiles, "'\(pair.filter { $0 != " " })' is not a pair",
                    "give TOPIC=PROFILE, such as com.example.app=callkit_incoming")
                continue
            }
            guard profiles.choose(parts[1], forTopic: parts[0]) else {
                fault(
                    .pushProfiles, "there is no profile '\(parts[1])'",
                    "give one of \(profiles.names.joined(separator: ", ")), or add a template with push.templates")
                continue
            }
        }
        return profiles
    }

    /// The setting that provides the credential of the endpoints.
    private var credential: Setting {
        let given: [Setting] = [
            .apnsCertificate, .apnsKey, .fcmServiceAccount, .webPushSubject, .pushSimulatorData, .pushSimulator,
        ]
        return given.first(where: settings.isSet) ?? .apnsKey
    }

    private mutating func endpoints() -> PushService.Configuration {
        let real: [Setting] = [
            .apnsKey, .apnsCertificate, .fcmServiceAccount, .webPushSubject, .webPushKey, .webPushHosts,
        ]
        guard settings.usesSimulator else {
            return PushService.Configuration(
                apns: apnsCertificates() + apnsKey(), fcm: fcmServiceAccount().map { [$0] } ?? [], webPush: webPush())
        }
        if let other = real.first(where: settings.isSet) {
            fault(
                settings.isSet(.pushSimulator) ? .pushSimulator : .pushSimulatorData,
                "pushes go either to the simulator or to the real push services, and \(other.key) was given too",
                "give one or the other")
            return PushService.Configuration()
        }
        do {
            var endpoints = try simulator(simulatorFolder)
            // The simulator takes any key: a browser subscribes with the one that it is given.
            if endpoints.webPush != nil { endpoints.webPush?.key = webPushKey() }
            return endpoints
        } catch {
            fault(.content, settings.isSet(.pushSimulatorData) ? .pushSimulatorData : .pushSimulator, "\(error)")
            return PushService.Configuration()
        }
    }

    /// The characters of the id of a key, and of a team (developer.apple.com: Establishing a token-based connection to
    /// APNs).
    private static let appleIDLength = 10

    private mutating func apnsKey() -> [APNSEndpoint] {
        let together: [Setting] = [.apnsKey, .apnsKeyID, .apnsTeamID]
        guard let given = together.first(where: settings.isSet) else { return [] }
        if let missing = together.first(where: { !settings.isSet($0) }) {
            fault(given, "needs \(missing.key)", "push.apns.key, push.apns.key_id and push.apns.team_id go together")
            return []
        }
        for setting: Setting in [.apnsKeyID, .apnsTeamID] {
            guard let id = settings.text(setting), id.count != Self.appleIDLength else { continue }
            fault(
                setting, "\(ShownText.quoted(id)) has \(id.count) characters",
                "give the \(Self.appleIDLength) characters that the developer account shows")
        }
        // Not there: it was given, and its fault is known.
        guard let path = settings.text(.apnsKey), let pem = file(path, .apnsKey, isPrivate: true),
            let keyID = settings.text(.apnsKeyID), let teamID = settings.text(.apnsTeamID)
        else { return [] }
        return endpoints(
            .key(APNSKey(pem: pem, keyID: keyID, teamID: teamID)), in: Set(PushEnvironment.allCases), .apnsKey)
    }

    private mutating func apnsCertificates() -> [APNSEndpoint] {
        let (paths, keyPaths) = (settings.list(.apnsCertificate), settings.list(.apnsCertificateKey))
        guard keyPaths.isEmpty || keyPaths.count == paths.count else {
            fault(
                .apnsCertificateKey, "there are \(keyPaths.count) keys for \(paths.count) certificates",
                "give one for each push.apns.certificate, or none when they are in the same files")
            return []
        }
        return paths.indices.flatMap { index -> [APNSEndpoint] in
            let pem = file(paths[index], .apnsCertificate, isPrivate: keyPaths.isEmpty)
            let keyPEM = keyPaths.isEmpty ? nil : file(keyPaths[index], .apnsCertificateKey, isPrivate: true)
            guard let pem, keyPaths.isEmpty || keyPEM != nil else { return [] }
            do {
                let certificate = try APNSCertificate(certificatePEM: pem, keyPEM: keyPEM, source: paths[index])
                return endpoints(.certificate(certificate), in: certificate.environments, .apnsCertificate)
            } catch {
                fault(.content, .apnsCertificate, "\(error)")
                return []
            }
        }
    }

    /// One endpoint for each environment, each checked by itself.
    private mutating func endpoints(
        _ credential: APNSEndpoint.Credential, in environments: Set<PushEnvironment>, _ setting: Setting
    ) -> [APNSEndpoint] {
        let port = UInt16(clamping: settings.integer(.apnsPort) ?? 443)
        let endpoints = PushEnvironment.allCases.filter(environments.contains).map {
            APNSEndpoint(environment: $0, port: port, credential: credential)
        }
        for endpoint in endpoints {
            do {
                try PushService.Configuration(apns: [endpoint]).check()
            } catch {
                let isOfPort = (error as? PushConfigurationError)?.field == "port"
                fault(.content, isOfPort ? .apnsPort : setting, "\(error)")
                // The others have the same to say.
                return []
            }
        }
        return endpoints
    }

    private mutating func webPush() -> WebPushEndpoint? {
        guard let subject = settings.text(.webPushSubject) else {
            let others: [Setting] = [.webPushKey, .webPushHosts]
            if let given = others.first(where: settings.isSet) {
                fault(given, "needs push.webpush.subject", "give a contact, such as mailto:admin@example.org")
            }
            return nil
        }
        guard WebPushEndpoint.isSubject(subject) else {
            fault(
                .webPushSubject, "\(ShownText.quoted(subject)) is no contact",
                "give an address such as mailto:admin@example.org, or a page such as https://example.org/contact")
            return nil
        }
        var hosts: [WebPushHost] = []
        let list = settings.text(.webPushHosts) ?? WebPushEndpoint.standardHosts.joined(separator: ",")
        for part in list.split(separator: ",") {
            let text = part.trimmingCharacters(in: .whitespaces)
            guard let host = WebPushHost(text) else {
                fault(
                    .webPushHosts, "\(ShownText.quoted(text)) is no host",
                    "give hosts with commas between them, such as \(WebPushEndpoint.standardHosts.prefix(2).joined(separator: ", "))"
                )
                return nil
            }
            guard !hosts.contains(host) else {
                fault(.webPushHosts, "'\(text)' is there twice", "take one of them out")
                return nil
            }
            hosts.append(host)
        }
        guard !hosts.isEmpty else {
            fault(.webPushHosts, "there is no host", "leave it out, or take push.webpush.subject out")
            return nil
        }
        return WebPushEndpoint(key: webPushKey(), subject: subject, hosts: hosts)
    }

    /// nil for the key of the data folder, which is checked if there is one.
    private mutating func webPushKey() -> WebPushKey? {
        do {
            guard let path = settings.text(.webPushKey) else {
                _ = try data.keptWebPushKey()
                return nil
            }
            guard let pem = file(path, .webPushKey, isPrivate: true) else { return nil }
            return try WebPushKey(pem: pem, source: path)
        } catch {
            fault(.content, .webPushKey, "\(error)")
            return nil
        }
    }

    private mutating func fcmServiceAccount() -> FCMEndpoint? {
        guard let path = settings.text(.fcmServiceAccount),
            let json = file(path, .fcmServiceAccount, isPrivate: true)
        else { return nil }
        do {
            return FCMEndpoint(account: try FCMServiceAccount(json: json, source: path))
        } catch {
            fault(.content, .fcmServiceAccount, "\(error)")
            return nil
        }
    }
}

extension EffectiveSettings {
    var usesSimulator: Bool { flag(.pushSimulator) || isSet(.pushSimulatorData) }
}
