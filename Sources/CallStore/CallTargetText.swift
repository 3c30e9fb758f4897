import CallVocabulary
import Foundation

/// How a ``CallTarget`` stands in a column: the JSON of the wire, `{"user":…}`, `{"users":[…]}` or `{"group":…}`.
enum CallTargetText {
    private struct Form: Decodable {
        var user: String?
        var users: [String]?
        var group: String?
    }

    static func write(_ target: CallTarget) -> String {
        switch target {
        case .user(let handle): return "{\"user\":\(JSONText.string(handle.text))}"
        case .users(let handles): return "{\"users\":\(JSONText.list(handles))}"
        case .group(let name): return "{\"group\":\(JSONText.string(name))}"
        }
    }

    /// - Returns: nil when the text is none of the three forms.
    static func read(_ text: String) -> CallTarget? {
        guard let form = try? JSONDecoder().decode(Form.self, from: Data(text.utf8)) else { return nil }
        if let user = form.user { return Handle(user).map(CallTarget.user) }
        if let users = form.users {
            let handles = users.compactMap { Handle($0) }
            return handles.count == users.count ? .users(handles) : nil
        }
        return form.group.map(CallTarget.group)
    }
}
