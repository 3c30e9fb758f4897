import AdminProtocol
import CallVocabulary

/// Pages of groups and aliases, as many as fit a frame.
enum AdminPages {
    /// The most bytes of list entries in a frame; the rest is reserved for the envelope.
    private static let content = AdminEndpoint.longestFrame - 4096

    /// Pages are addressed by name, not by index: entries added or deleted between two pages shift no others.
    /// - Parameter read: reads the next entries by name, up to a number.
    static func page<Entry: ListedByName, Item>(
        _ item: (Entry) -> Item, _ read: (Int) async throws -> [Entry]
    ) async throws -> AdminPage<Item> {
        let rows = try await read(AdminEndpoint.pageSize + 1)
        var room = content
        let page = rows.prefix(AdminEndpoint.pageSize).prefix { entry in
            room -= entry.mostWireBytes
            return room >= 0
        }
        // A single entry always fits: `AdminEndpoint.longestFrame` is chosen for that.
        return AdminPage(items: page.map(item), next: page.count < rows.count ? page.last?.listedName : nil)
    }
}

protocol ListedByName {
    var listedName: String { get }
    /// An upper bound of its bytes in a frame.
    var mostWireBytes: Int { get }
}

extension CallGroup: ListedByName {
    var listedName: String { name }
    var mostWireBytes: Int { members.reduce(64 + name.mostWireBytes) { $0 + $1.text.mostWireBytes } }
}

extension Alias: ListedByName {
    var listedName: String { handle.text }
    var mostWireBytes: Int { 32 + handle.text.mostWireBytes + user.text.mostWireBytes }
}

extension String {
    /// Includes quotation marks and a comma. In a handle, `"` and `\` take two bytes.
    fileprivate var mostWireBytes: Int { 2 * utf8.count + 3 }
}
