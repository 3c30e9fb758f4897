import AdminProtocol
import CallVocabulary

/// Devices for people to read.
enum DeviceText {
    static func table(_ devices: [DeviceView]) -> Table {
        Table(
            [
                Table.Column("USER"), Table.Column("DEVICE", isID: true), Table.Column("PLATFORM", sacrifice: 3),
                Table.Column("TOKENS", sacrifice: 2, least: 12), Table.Column("HEALTH", least: 12),
                Table.Column("SEEN", sacrifice: 4, least: 19), Table.Column("AGO", sacrifice: 5, isRight: true),
            ], of: devices
        ) { device in
            [
                Table.Cell(device.user.text), Table.Cell(device.deviceID.description),
                Table.Cell(device.platform.rawValue), Table.Cell(kinds(device)), health(device),
                Table.Cell(Moment.text(device.seenAt.instant)),
                Table.Cell(Moment.coarse(Moment.now - device.seenAt.instant), .dim),
            ]
        }
    }

    /// One device, to choose from several.
    static func line(_ device: DeviceView) -> String {
        "\(device.deviceID)  \(device.platform.rawValue)  \((device.name ?? device.app ?? "").shown)"
    }

    static func missing(_ user: Handle, _ id: IDPart<DeviceSubject>) -> String {
        "\(user.text.shown) has no device \(id.text); see reveille devices list --user \(user.text.shown)"
    }

    /// The kinds of push that reach the device.
    private static func kinds(_ device: DeviceView) -> String {
        let kinds = device.tokens.map { "\($0.provider.rawValue)/\($0.kind.rawValue)" }
        return kinds.isEmpty ? "-" : kinds.joined(separator: " ")
    }

    private static func health(_ device: DeviceView) -> Table.Cell {
        if device.isSuspended {
            return Table.Cell("suspended" + (device.nextProbeAt.map { ", " + probe($0.instant) } ?? ""), .red)
        }
        guard device.unreportedStreak > 0 else { return "good" }
        return Table.Cell("\(device.unreportedStreak) unreported", .yellow)
    }

    /// When a call may send the suspended device one VoIP push.
    private static func probe(_ due: Instant) -> String {
        let now = Moment.now
        return due > now ? "probe in \(Moment.coarse(due - now))" : "probe with the next call"
    }

    /// The device in detail; tokens are shortened.
    static func details(_ device: DeviceView) -> [String] {
        var table = Table([Table.Column("DEVICE"), Table.Column(device.deviceID.description, least: 36)])
        table.add(["user", device.user.text])
        table.add(["platform", device.platform.rawValue])
        if let app = device.app { table.add(["app", app]) }
        if let name = device.name { table.add(["name", name]) }
        table.add(["seen", Moment.full(device.seenAt.instant)])
        table.add(["unreported in a row", "\(device.unreportedStreak)"])
        if let at = device.suspendedAt {
            table.add(["suspended", Table.Cell(Moment.full(at.instant), .red)])
        }
        if let due = device.nextProbeAt {
            table.add(["next VoIP push", "not before \(Moment.full(due.instant)), for a call: \(probe(due.instant))"])
        }
        for token in device.tokens {
            let since = token.registeredAt.map { ", since \(Moment.text($0.instant))" } ?? ""
            table.add(["token", PushText.token(token) + since])
        }
        return table.lines(width: nil)
    }
}
