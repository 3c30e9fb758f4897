import Foundation
import PostgresStore
import StoreInterface

/// The secrets that the servers make for themselves, kept in the database, so that all servers of a realm have the same.
/// Calls block.
struct SharedSecrets {
    static let files = [
        TokenConfiguration.standardSecretFile, TokenAuthority.wakeSecretFile, DataFolder.webPushKeyFile,
    ]

    private let database: PostgresAddress
    private let folder: DataFolder

    init(_ database: PostgresAddress, _ folder: DataFolder) {
        self.database = database
        self.folder = folder
    }

    /// For the home: gives the folder the realm's secrets that it lacks, and the realm those that it lacks; makes those
    /// that nobody has.
    /// - Parameters:
    ///   - hasWebPush: whether the key for Web Push is made if nobody has one.
    /// - Throws: `DataFolder.Failure` for a file that differs from the realm's; `StoreFailure`.
    func provide(hasWebPush: Bool) throws {
        for file in Self.files {
            if try text(of: file) == nil, try Realm.keep(file, nil, in: database) == nil {
                if file != DataFolder.webPushKeyFile {
                    _ = try folder.secret(file)
                } else if hasWebPush {
                    _ = try folder.webPushKey()
                }
            }
            let own = try text(of: file)
            if let kept = try Realm.keep(file, own.map { Array($0.utf8) }, in: database) { try take(file, kept) }
        }
    }

    /// The realm's tokens of backends.
    func backendTokens() throws(StoreFailure) -> [BackendToken] {
        let name = BackendToken.standardFile
        return BackendToken.shared(try Realm.kept([name], in: database)[name] ?? [])
    }

    /// Gives the folder the identity provider's keys that the last home has fetched: the provider may be down.
    func takeTokenKeys() throws {
        let kept = try Realm.kept([RemoteKeySet.file], in: database)[RemoteKeySet.file]
        if let kept { try RemoteKeySet.take(kept, into: folder) }
    }

    /// Moves files aside that differ from the realm's or cannot be read.
    /// - Returns: where they are now.
    func setAsideOthers() throws -> [String] {
        try others(than: try Realm.kept(Self.files, in: database)).map { try folder.setAside($0) }
    }

    /// The files that differ from the realm's or cannot be read.
    func others(than kept: [String: [UInt8]]) -> [String] {
        Self.files.filter { file in
            guard let content = kept[file] else { return false }
            do { return try text(of: file).map { !Self.isSame($0, content) } ?? false } catch { return true }
        }
    }

    /// For a standby: gives the folder the realm's secrets that it lacks. What the realm lacks, its home may be about to
    /// make.
    /// - Throws: `DataFolder.Failure` for a file that differs from the realm's; `StoreFailure`.
    func take() throws { try take(try Realm.kept(Self.files, in: database)) }

    /// As ``take()``, of the realm's secrets.
    func take(_ kept: [String: [UInt8]]) throws {
        for file in Self.files { if let content = kept[file] { try take(file, content) } }
    }

    private func take(_ file: String, _ kept: [UInt8]) throws {
        guard let own = try text(of: file) else {
            _ = try folder.create(file, text: String(decoding: kept, as: UTF8.self))
            return
        }
        guard Self.isSame(own, kept) else {
            let path = "\(folder.path)/\(file)"
            throw DataFolder.Failure(
                description:
                    "\(path) differs from the realm's: tokens of one server would fail at the other. First compare "
                    + "it with the home's, sha256sum \(path) on both machines, and with the realm's, SELECT "
                    + "encode(sha256(content), 'hex') FROM \"\(database.realm)\".kept WHERE name = '\(file)'. If this "
                    + "file alone is another, keep a copy of it, then move the file away to take the realm's; if the "
                    + "files are equal, leave them and correct the table")
        }
    }

    private func text(of file: String) throws -> String? { try DataFolder.text(at: folder.path + "/" + file) }

    private static func isSame(_ own: String, _ kept: [UInt8]) -> Bool {
        words(own) == words(String(decoding: kept, as: UTF8.self))
    }

    private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }
}
