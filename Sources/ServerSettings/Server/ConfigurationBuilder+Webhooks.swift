import CallVocabulary
import OutgoingHTTP
import WebhookClient
import Yams

/// The endpoints that get events: a list of mappings in a YAML file.
extension ConfigurationBuilder {
    private static let keys = ["name", "url", "secrets", "events"]

    mutating func webhooks() -> [WebhookEndpoint] {
        guard let path = settings.text(.webhooksFile),
            let text = file(path, .webhooksFile, isPrivate: true)
        else { return [] }
        areBlank[path] = SettingsFile.isBlank(text)
        let root: Node?
        do {
            root = try SettingsFile.composeOnce(text)
        } catch let use as SettingsFile.AliasUse {
            let reason = "\(path):\(use.line) \(SettingsFile.AliasUse.reason)"
            fault(.content, .webhooksFile, reason, SettingsFile.AliasUse.advice)
            return []
        } catch {
            let (line, words) = SettingsFile.problem(error)
            fault(.content, .webhooksFile, "\(path):\(line) is not YAML: \(words)", "correct it")
            return []
        }
        // The root of a file with only comments is an empty scalar.
        guard let root, root.scalar?.string.isEmpty != true else { return [] }
        guard let list = root.sequence else {
            refuse(path, root, "is no list of endpoints", "begin each endpoint with '- name: …'")
            return []
        }
        var endpoints: [WebhookEndpoint] = []
        for entry in list {
            guard let endpoint = endpoint(entry, path) else { continue }
            if endpoints.contains(where: { $0.name == endpoint.name }) {
                refuse(path, entry, "has two endpoints called '\(endpoint.name)'", "give each its own name")
            }
            endpoints.append(endpoint)
        }
        if endpoints.count > WebhookEndpoint.most {
            refuse(path, root, "has more than \(WebhookEndpoint.most) endpoints", "send events on from one of them")
        }
        return endpoints
    }

    private mutating func refuse(_ path: String, _ node: Node, _ reason: String, _ advice: String) {
        fault(.content, .webhooksFile, "\(path):\(node.mark?.line ?? 1) \(reason)", advice)
    }

    private mutating func endpoint(_ entry: Node, _ path: String) -> WebhookEndpoint? {
        guard let mapping = entry.mapping else {
            refuse(path, entry, "is no endpoint", "give name, url and secrets")
            return nil
        }
        for (key, _) in mapping where !Self.keys.contains(key.string ?? "") {
            refuse(
                path, key, "has \(ShownText.quoted(key.string ?? "")), which no endpoint has",
                "an endpoint has \(Self.keys.joined(separator: ", "))")
        }
        // All faults of an endpoint are told at once.
        let given = mapping["name"]
        let name = given?.string.flatMap { WebhookEndpoint.isName($0) ? $0 : nil }
        if name == nil {
            let reason = given == nil ? "has no name" : "has a name that is not allowed"
            refuse(path, given ?? entry, reason, "give one of 1 to 64 letters, digits, - _ .")
        }
        let shown = name ?? "this endpoint"
        let address = mapping["url"]?.string.flatMap { WebAddress($0) }
        if address == nil {
            refuse(
                path, mapping["url"] ?? entry, "has no address for '\(shown)' that events can be sent to",
                "give url: https://…; http:// only with a numeric address of this machine or localhost")
        }
        let secrets = secrets(mapping["secrets"], of: shown, path, entry)
        let kinds = kinds(mapping["events"], of: shown, path)
        guard let name, let address, let secrets, let kinds else { return nil }
        return WebhookEndpoint(name: name, address: address, secrets: secrets, kinds: kinds)
    }

    private mutating func secrets(
        _ node: Node?, of name: String, _ path: String, _ entry: Node
    ) -> [WebhookSecret]? {
        let texts = texts(node)
        let secrets = texts.compactMap { WebhookSecret($0) }
        guard !texts.isEmpty, secrets.count == texts.count, secrets.count <= 4 else {
            // Without the text: it may be a secret with a wrong character.
            refuse(
                path, node ?? entry, "has no valid secrets for '\(name)'",
                "give 1 to 4 as secrets: [whsec_…]; make one with: echo whsec_$(openssl rand -base64 32)")
            return nil
        }
        return secrets
    }

    private mutating func kinds(_ node: Node?, of name: String, _ path: String) -> Set<EventKind>? {
        guard let node else { return Set(EventKind.allCases) }
        let texts = texts(node)
        var kinds: Set<EventKind> = []
        for text in texts {
            guard let found = EventKind.matching(text) else {
                refuse(
                    path, node, "has the event \(ShownText.quoted(text)) for '\(name)', which does not exist",
                    "there are \(EventKind.allCases.map(\.rawValue).joined(separator: ", ")), call.*, push.*, device.* and *"
                )
                return nil
            }
            kinds.formUnion(found)
        }
        guard !kinds.isEmpty else {
            refuse(path, node, "has no events for '\(name)'", "leave events out for all of them")
            return nil
        }
        return kinds
    }

    /// The texts of a list, or a single text.
    private func texts(_ node: Node?) -> [String] {
        if let text = node?.scalar?.string { return text.isEmpty ? [] : [text] }
        return node?.sequence?.map { $0.scalar?.string ?? "" } ?? []
    }
}
