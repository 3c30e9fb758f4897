import CallVocabulary

extension AdminReply {
    /// One frame's worth of a list, in the order of names (byte by byte): what comes after `after`, or the beginning.
    ///
    /// Pages hold together by name, not by place: what is added or deleted between two of them moves nothing else.
    /// - Returns: `next` is nil at the end of the list, and for what is no list.
    public func page(after: String?) -> (reply: AdminReply, next: String?) {
        switch self {
        case .groups(let groups):
            let (page, next) = Self.page(of: groups, after: after, name: \.name, size: \.mostWireBytes)
            return (.groups(page), next)
        case .aliases(let aliases):
            let (page, next) = Self.page(of: aliases, after: after, name: \.handle.text, size: \.mostWireBytes)
            return (.aliases(page), next)
        case .done, .group, .user: return (self, nil)
        }
    }

    private static func page<Entry>(
        of entries: [Entry], after: String?, name: (Entry) -> String, size: (Entry) -> Int
    ) -> ([Entry], String?) {
        var rest = entries
        if let after { rest.removeAll { !after.utf8.lexicographicallyPrecedes(name($0).utf8) } }
        rest.sort { name($0).utf8.lexicographicallyPrecedes(name($1).utf8) }
        var room = AdminLimits.content
        let page = rest.prefix { entry in
            room -= size(entry)
            return room >= 0
        }
        // An entry alone always fits: that is what `AdminLimits.frame` is made for.
        return (Array(page), page.count < rest.count ? page.last.map(name) : nil)
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
