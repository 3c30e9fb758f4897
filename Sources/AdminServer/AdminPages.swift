import AdminProtocol
import CallVocabulary

/// Lists that the core gives whole go out in pages, in the order of names (byte by byte).
enum AdminPages {
    /// What the entries of a list may fill of a frame, in bytes; the rest is kept for the envelope.
    private static let content = AdminEndpoint.longestFrame - 4096

    static func page(_ groups: [CallGroup], after: String?) -> AdminPage<GroupView> {
        page(of: groups, after: after, name: \.name, size: \.mostWireBytes) { GroupView($0) }
    }

    static func page(_ aliases: [Alias], after: String?) -> AdminPage<AliasView> {
        page(of: aliases, after: after, name: \.handle.text, size: \.mostWireBytes) { AliasView($0) }
    }

    /// Pages hold together by name, not by place: what is added or deleted between two of them moves nothing else.
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
        // An entry alone always fits: that is what `AdminEndpoint.longestFrame` is made for.
        return AdminPage(items: page.map(item), next: page.count < rest.count ? page.last.map(name) : nil)
    }
}

extension CallGroup {
    /// At most this many bytes in a frame.
    fileprivate var mostWireBytes: Int { members.reduce(64 + name.mostWireBytes) { $0 + $1.text.mostWireBytes } }
}

extension Alias {
    fileprivate var mostWireBytes: Int { 32 + handle.text.mostWireBytes + user.text.mostWireBytes }
}

extension String {
    /// With quotation marks and a comma. Of what a handle may hold, `"` and `\` take two bytes.
    fileprivate var mostWireBytes: Int { 2 * utf8.count + 3 }
}
