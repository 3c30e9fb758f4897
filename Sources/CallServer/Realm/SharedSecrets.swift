import Foundation
import PostgresStore
import StoreInterface

/// The secrets that the servers make for themselves, kept in the database, so that all servers of a realm have the same.
struct SharedSecrets {
    private let database: PostgresAddress
    private let folder: DataFolder

    init(_ database: PostgresAddress, _ folder: DataFolder) {
        self.database = database
        self.folder = folder
    }

    /// Gives the folder the realm's secrets that it lacks. For the home: makes those that nobody has, and gives the realm
    /// those that it lacks. Blocks.
    /// - Parameter hasWebPush: whether the key for Web Push is made if nobody has one.
    /// - Throws: `DataFolder.Failure` for a file that differs from the realm's; `StoreFailure`.
    func provide(hasWebPush: Bool) throws {
        for file in [TokenConfiguration.standardSecretFile, TokenAuthority.wakeSecretFile] {
            try agree(on: file) { _ = try folder.secret(file) }
        }
        try agree(on: DataFolder.webPushKeyFile) { if hasWebPush { _ = try folder.webPushKey() } }
    }

    /// Gives the folder the realm's secrets that it lacks. For a standby: what the realm lacks, its home may be about to
    /// make. Blocks.
    /// - Throws: as ``provide(hasWebPush:)``.
    func take() throws {
        for file in [
            TokenConfiguration.standardSecretFile, TokenAuthority.wakeSecretFile, DataFolder.webPushKeyFile,
        ] {
            try agree(on: file, make: nil)
        }
    }

    /// - Parameter make: makes the file if nobody has it; nil to leave the realm as it is.
    private func agree(on file: String, make: (() throws -> Void)?) throws {
        if let make, try text(of: file) == nil, try Realm.keep(file, nil, in: database) == nil { try make() }
        let own = try text(of: file)
        let given = make == nil ? nil : own.map { Array($0.utf8) }
        guard let kept = try Realm.keep(file, given, in: database) else { return }
        let text = String(decoding: kept, as: UTF8.self)
        guard let own else {
            _ = try folder.create(file, text: text)
            return
        }
        guard Self.words(own) == Self.words(text) else {
            throw DataFolder.Failure(
                description:
                    "\(folder.path)/\(file) differs from the realm's: tokens of one server would fail at the other; "
                    + "move the file away to take the realm's")
        }
    }

    private func text(of file: String) throws -> String? { try DataFolder.text(at: folder.path + "/" + file) }

    private static func words(_ text: String) -> [Substring] { text.split(whereSeparator: \.isWhitespace) }
}
