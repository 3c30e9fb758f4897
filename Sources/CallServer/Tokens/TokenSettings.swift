import ClientTokens
import EventLoop
import Foundation
import PostgresStore
import StoreInterface

/// The settings of a server that say which user tokens it takes. For commands; the server need not run.
public struct TokenSettings: Sendable {
    let folder: DataFolder
    let tokens: TokenConfiguration
    /// The realm that the server is a node of; nil for none.
    let database: PostgresAddress?

    public init(folder: DataFolder, tokens: TokenConfiguration, database: PostgresAddress?) {
        self.folder = folder
        self.tokens = tokens
        self.database = database
    }

    private var standardPath: String { folder.path + "/" + TokenConfiguration.standardSecretFile }

    /// Where the next ``TokenAuthority/init(minting:)`` makes a secret; nil if there is one.
    public var newSecretPath: String? {
        let isMade = tokens.secretFile == nil && database == nil
        return isMade && !PrivateFile.isThere(standardPath) ? standardPath : nil
    }

    /// The server's secrets. Makes none.
    /// - Throws: `DataFolder.Failure`, `StoreFailure`.
    func secrets() throws -> [TokenSecret] {
        if tokens.secretFile == nil, let database { return try Self.secrets(of: database) }
        return try DataFolder.secrets(file: tokens.secretFile ?? standardPath).map { TokenSecret($0) }
    }

    /// The provider's keys that the realm has kept, as ``RemoteKeySet/file``; nil without a realm, and if it has none.
    func sharedKeySet() throws(StoreFailure) -> [UInt8]? {
        guard let database else { return nil }
        return try Realm.kept([RemoteKeySet.file], in: database)[RemoteKeySet.file]
    }

    /// All nodes of a realm have its secrets, whatever this machine's data folder has.
    private static func secrets(of database: PostgresAddress) throws -> [TokenSecret] {
        let file = TokenConfiguration.standardSecretFile
        guard let content = try Realm.keep(file, nil, in: database) else {
            throw DataFolder.Failure(
                description: "the realm \(database.realm) has no \(file) yet; start a server on it first")
        }
        guard let secrets = DataFolder.secrets(in: String(decoding: content, as: UTF8.self)) else {
            throw DataFolder.Failure(
                description: "the realm's \(file) does not hold a secret of at least 64 hexadecimal digits; "
                    + "put the right one into its table kept")
        }
        return secrets.map { TokenSecret($0) }
    }
}

extension TokenAuthority {
    /// Mints user tokens as a server with these settings takes them; it neither checks nor mints wake tokens. Makes the
    /// secret of a data folder on first use.
    /// - Throws: `DataFolder.Failure`, `StoreFailure`.
    public init(minting settings: TokenSettings) throws {
        if settings.newSecretPath != nil {
            try settings.folder.prepare()
            _ = try settings.folder.secret(TokenConfiguration.standardSecretFile)
        }
        self.init(secrets: try settings.secrets())
    }
}
