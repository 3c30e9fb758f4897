extension Array where Element: AnyObject {
    /// Takes an object out, if it is there. The oldest leave first as a rule, so that the search is short.
    mutating func remove(_ object: Element) {
        if let index = firstIndex(where: { $0 === object }) { remove(at: index) }
    }
}
