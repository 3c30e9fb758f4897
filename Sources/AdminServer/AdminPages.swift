import AdminProtocol
import CallVocabulary

/// Pages of lists that the core returns whole, in the byte order of names.
enum AdminPages {
    /// The most bytes of list entries in a frame; the rest is reserved for the envelope.
    private static let content = AdminEndpoint.longestFrame - 4096

    static func page(_ groups: [CallGroup], after: String?) -> AdminPage<GroupView> {
        page(of: groups, after: after, name: \.name, size: \.mostWireBytes) { GroupView($0) }
    }

    static func page(_ aliases: [Alias], after: String?) -> AdminPage<AliasView> {
        page(of: aliases, after: after, name: \.handle.text, size: \.mostWireBytes) { AliasView($0) }
    }

    /// Pages are addressed by name, not by index: entries added or deleted between two pages shift no others.
    private static func page<Entry, Item>(
        of entries: [Entry], after: String?, name: (Entry) -> String, size: (Entry) -> Int, _ item: (Entry) -> Item
    ) -> AdminPage<Item> {
        var rest = entries
        if let after { rest.removeAll { !after.utf8.lexicographicallyPrecedes(name($0).utf8) } }
        rest.sort { name($0).utf8.lexicographicallyPrecedes(name($1).utf8) }
        var room = content
        let page = rest.prefix { entry in
            room -= size(entry)
            return room >= 0
        }
        // A single entry always fits: `AdminEndpoint.longestFrame` is chosen for that.
        return AdminPage(items: page.map(item), next: page.count < rest.count ? page.last.map(name) : nil)
    }
}

extension CallGroup {
    /// An upper bound of its bytes in a frame.
    fileprivate var mostWireBytes: Int { members.reduce(64 + name.mostWireBytes) { $0 + $1.text.mostWireBytes } }
}

extension Alias {
    fileprivate var mostWireBytes: Int { 32 + handle.text.mostWireBytes + user.text.mostWireBytes }
}

extension String {
    /// Includes quotation marks and a comma. In a handle, `"` and `\` take two bytes.
    fileprivate var mostWireBytes: Int { 2 * utf8.count + 3 }
}
