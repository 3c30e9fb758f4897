extension JSONValue {
    /// The member of an object, the last one of that name; nil when it is missing or this is no object.
    public func member(_ name: StaticString) -> JSONValue? {
        guard kind == .object else { return nil }
        var found: JSONValue?
        var scanner = JSONScanner(bytes)
        do {
            try scanner.enterObject()
            while let key = try scanner.nextKey() {
                let value = try scanner.value()
                if name ~= key { found = value }
            }
        } catch {
            // The same bytes went through the same checks before.
            return nil
        }
        return found
    }
}
