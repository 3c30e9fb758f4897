extension Array where Element: AnyObject {
    /// Removes the first occurrence of an object, if any. The oldest usually leave first, so the search is short.
    mutating func remove(_ object: Element) {
        if let index = firstIndex(where: { $0 === object }) { remove(at: index) }
    }
}
