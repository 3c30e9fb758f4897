import Foundation
import PushClient

/// The VAPID key, for servers whose configuration names none.
extension DataFolder {
    /// The key's file: P-256, in PEM. Browsers subscribe with it: another key makes all subscriptions useless.
    public static let webPushKeyFile = "webpush.key"
    /// The file of the public key that pages subscribed with last.
    private static let webPushPublicKeyFile = "webpush.pub"

    /// The key; nil when no server has made one here.
    /// - Throws: ``Failure`` for a file that cannot be read or is no key.
    public func keptWebPushKey() throws -> WebPushKey? {
        let path = self.path + "/" + Self.webPushKeyFile
        guard let pem = try Self.text(at: path) else { return nil }
        guard let key = try? WebPushKey(pem: pem, source: path) else {
            throw Failure(
                description:
                    "\(path) holds no P-256 private key in PEM; restore it from a backup, or delete it to have "
                    + "a new one made (existing subscriptions get no pushes until their pages subscribe again)"
            )
        }
        return key
    }

    /// The public key that pages subscribed with last, in any process; nil when there was none.
    public func lastApplicationServerKey() throws -> String? {
        let text = try Self.text(at: path + "/" + Self.webPushPublicKeyFile)
        return text?.split(whereSeparator: \.isNewline).first.map(String.init)
    }

    /// Remembers the public key that pages subscribe with.
    /// - Returns: whether it is another one than before, here or in an earlier process.
    func noteApplicationServerKey(_ key: String) throws -> Bool {
        let before = try lastApplicationServerKey()
        guard before != key else { return false }
        try replace(Self.webPushPublicKeyFile, with: (key + "\n").utf8)
        return before != nil
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
