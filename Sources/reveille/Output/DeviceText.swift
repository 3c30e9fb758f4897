import CallCore
import CallVocabulary

/// A device for people to read.
enum DeviceText {
    /// Which kinds of push reach it.
    static func kinds(_ device: DeviceRecord) -> String {
        let kinds = device.tokens.map { "\($0.token.provider.rawValue)/\($0.token.kind.rawValue)" }
        return kinds.isEmpty ? "-" : kinds.joined(separator: " ")
    }

    static func health(_ device: DeviceRecord) -> String {
        if device.suspendedAt != nil { return "suspended" }
        return device.unreportedStreak == 0 ? "good" : "\(device.unreportedStreak) unreported"
    }

    /// Of its tokens, the first characters.
    static func table(_ device: DeviceRecord) -> Table {
        var table = Table(["DEVICE", device.key.device.description])
        table.add(["user", device.key.user.text])
        table.add(["platform", device.platform.rawValue])
        if let app = device.app { table.add(["app", app]) }
        if let name = device.name { table.add(["name", name]) }
        table.add(["seen", Moment.text(device.seenAt)])
        table.add(["unreported in a row", "\(device.unreportedStreak)"])
        if let at = device.suspendedAt { table.add(["suspended", Moment.text(at)]) }
        for token in device.tokens {
            table.add(["token", "\(token.token), since \(Moment.text(token.registeredAt))"])
        }
        return table
    }
}
