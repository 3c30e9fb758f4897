import CallVocabulary
import StoreInterface

extension StoreReader {
    /// The groups, by name.
    public func groups() throws(StoreFailure) -> [CallGroup] {
        try read { try SQLRow($0, GroupTable.layout.select + " ORDER BY name").all(GroupTable.read) }
    }

    /// The aliases, by their own handle.
    public func aliases() throws(StoreFailure) -> [Alias] {
        try read { try SQLRow($0, AliasTable.layout.select + " ORDER BY handle").all(AliasTable.read) }
    }
}
