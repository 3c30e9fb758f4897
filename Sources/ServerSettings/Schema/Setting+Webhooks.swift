import Configuration

/// The events for other systems.
extension Setting {
    package static let webhooksFile = Setting(
        "webhooks.file", .path, example: "/etc/reveille/webhooks.yaml", part: .webhooks,
        "The endpoints that get events: a list in YAML, each with name, url, secrets and events.")
}
