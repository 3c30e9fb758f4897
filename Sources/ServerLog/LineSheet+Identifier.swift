import CallVocabulary

extension LineSheet {
    /// Adds a UUID in lower case.
    public func add(_ key: String, _ id: Identifier<some Any>) {
        add(key, plain: 36) { id.write(into: $0) }
    }
}
