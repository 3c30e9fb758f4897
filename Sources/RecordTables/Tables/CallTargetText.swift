import CallVocabulary
import Foundation

/// Converts a ``CallTarget`` to and from a column: JSON as on the wire, `{"user":…}`, `{"users":[…]}` or `{"group":…}`. A
/// list that was cut has its whole length beside it: `{"users":[…],"count":950}`.
package enum CallTargetText {
    struct Form: Decodable {
        var user: String?
        var users: [String]?
        var group: String?
        var count: Int?
    }

    package static func append(_ target: CallTarget, count: Int? = nil, to bytes: inout [UInt8]) {
        switch target {
        case .user(let handle):
            bytes += #"{"user":"#.utf8
            JSONText.append(handle.text, to: &bytes)
        case .users(let handles):
            bytes += #"{"users":"#.utf8
            JSONText.append(handles, to: &bytes)
            if let count { bytes += #","count":\#(count)"#.utf8 }
        case .group(let name):
            bytes += #"{"group":"#.utf8
            JSONText.append(name, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// - Returns: nil when the text has none of the three forms.
    package static func read(_ text: String) -> CallTarget? { form(text).flatMap(target) }

    /// - Returns: the target, and the length of a list that was cut.
    static func readCut(_ text: String) -> (target: CallTarget, count: Int?)? {
        guard let form = form(text), let target = target(form) else { return nil }
        return (target, form.count)
    }

    private static func form(_ text: String) -> Form? { try? JSONDecoder().decode(Form.self, from: Data(text.utf8)) }

    static func target(_ form: Form) -> CallTarget? {
        if let user = form.user { return Handle(known: user).map(CallTarget.user) }
        if let users = form.users {
            let handles = users.compactMap { Handle(known: $0) }
            return handles.count == users.count ? .users(handles) : nil
        }
        return form.group.map(CallTarget.group)
    }
}
