import PushClient

/// The key of Web Push, for servers whose configuration names none.
extension DataFolder {
    /// The key's file: P-256, in PEM. Browsers subscribe with it: another key makes all subscriptions useless.
    public static let webPushKeyFile = "webpush.key"

    /// The key; nil when no server has made one here.
    /// - Throws: ``Failure`` for a file that cannot be read, `PushConfigurationError` for one that is no key.
    public func keptWebPushKey() throws -> WebPushKey? {
        let path = self.path + "/" + Self.webPushKeyFile
        return try Self.text(at: path).map { try WebPushKey(pem: $0, source: path) }
    }

    /// The key, generated on first use, readable by the owner only.
    func webPushKey() throws -> WebPushKey {
        if let kept = try keptWebPushKey() { return kept }
        let key = WebPushKey.random()
        if try create(Self.webPushKeyFile, text: key.pem + "\n") { return key }
        guard let kept = try keptWebPushKey() else {
            throw Failure(description: "cannot write \(path)/\(Self.webPushKeyFile): the file was there, and is gone")
        }
        return kept
    }

    /// The configuration with the folder's key, if it has Web Push without a key.
    func completed(_ push: PushService.Configuration) throws -> PushService.Configuration {
        var push = push
        if let webPush = push.webPush, webPush.key == nil { push.webPush?.key = try webPushKey() }
        return push
    }
}
