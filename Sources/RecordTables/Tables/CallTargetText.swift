import CallVocabulary
import Foundation

/// Converts a ``CallTarget`` to and from a column: JSON as on the wire, `{"user":…}`, `{"users":[…]}` or `{"group":…}`.
package enum CallTargetText {
    struct Form: Decodable {
        var user: String?
        var users: [String]?
        var group: String?
    }

    package static func append(_ target: CallTarget, to bytes: inout [UInt8]) {
        switch target {
        case .user(let handle):
            bytes += #"{"user":"#.utf8
            JSONText.append(handle.text, to: &bytes)
        case .users(let handles):
            bytes += #"{"users":"#.utf8
            JSONText.append(handles, to: &bytes)
        case .group(let name):
            bytes += #"{"group":"#.utf8
            JSONText.append(name, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }

    /// - Returns: nil when the text has none of the three forms.
    package static func read(_ text: String) -> CallTarget? {
        (try? JSONDecoder().decode(Form.self, from: Data(text.utf8))).flatMap(target)
    }

    static func target(_ form: Form) -> CallTarget? {
        if let user = form.user { return Handle(known: user).map(CallTarget.user) }
        if let users = form.users {
            let handles = users.compactMap { Handle(known: $0) }
            return handles.count == users.count ? .users(handles) : nil
        }
        return form.group.map(CallTarget.group)
    }
}
