import AdminProtocol
import CallVocabulary

/// The parties of a call, as text.
enum PartyText {
    /// `bob/1a2b3c4d`.
    /// - Parameter ids: of all devices that are told of beside it.
    static func name(_ user: Handle, _ device: DeviceID?, ids: ShortIDs? = nil) -> String {
        device.map { "\(user.text.shown)/\(ids?[$0] ?? ShortIDs.text($0))" } ?? user.text.shown
    }

    static func name(_ target: CallTarget) -> String {
        switch target {
        case .user(let handle): handle.text.shown
        case .users(let handles): handles.map(\.text.shown).joined(separator: ", ")
        case .group(let name): "group \(name.shown)"
        }
    }

    static func list(_ names: [String]) -> String {
        names.isEmpty ? "-" : names.map(\.shown).joined(separator: ", ")
    }

    /// `1 device`, `3 devices`.
    static func count(_ count: Int, _ noun: String, plural: String? = nil) -> String {
        "\(count) \(count == 1 ? noun : plural ?? noun + "s")"
    }
}
