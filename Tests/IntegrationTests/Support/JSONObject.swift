import Foundation

struct JSONObject {
    struct Unreadable: Error {
        let text: String
    }

    private let members: [String: Any]

    init(_ text: String) throws {
        guard let members = try? JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any] else {
            throw Unreadable(text: text)
        }
        self.members = members
    }

    subscript(_ name: String) -> Any? { members[name] }

    func objects(_ name: String) -> [[String: Any]] { members[name] as? [[String: Any]] ?? [] }
}
