import CPostgreSQL
import StoreInterface

/// libpq, loaded at first use.
enum PostgresLibrary {
    /// - Throws: ``StoreFailure/Reason/noLibrary``.
    static func load(for path: String) throws(StoreFailure) -> UnsafePointer<postgresql> {
        var error: UnsafePointer<CChar>?
        guard let functions = postgresql_load(&error) else {
            throw StoreFailure(.noLibrary, path: path, detail: error.map { String(cString: $0) } ?? "libpq is missing")
        }
        return functions
    }
}
