import AdminKit
import AdminProtocol
import ArgumentParser
import CallServer
import CallVocabulary
import Foundation
import LibWebSockets
import PushSimulator
import TLS

/// Shell completions of ids and names, from the store or the server that the command line names, newest first.
enum KnownIDs {
    private static let most = 50
    /// The time limit: a user waits at the prompt.
    private static let patience = Duration.seconds(2)

    static let calls = CompletionKind.custom { words, _, _ in await callIDs(words) }
    static let pushes = CompletionKind.custom { words, _, _ in await pushIDs(words) }
    static let devices = CompletionKind.custom { words, _, _ in await deviceIDs(words) }
    static let users = CompletionKind.custom { words, _, _ in await userNames(words) }
    static let groups = CompletionKind.custom { words, _, _ in await groupNames(words) }
    static let aliases = CompletionKind.custom { words, _, _ in await aliasNames(words) }
    static let usersAndAliases = CompletionKind.custom { words, _, _ in
        await Set(userNames(words) + aliasNames(words)).sorted()
    }
    static let phoneTokens = CompletionKind.custom { words, _, _ in await simulatedTokens(words) }

    static func callIDs(_ words: [String]) async -> [String] {
        await known(words) { try await $0.calls(ListCalls(), limit: most).items.map(\.callID.description) }
    }

    static func pushIDs(_ words: [String]) async -> [String] {
        await known(words) { try await $0.pushes(ListPushes(), limit: most).items.map(\.pushID.description) }
    }

    /// Devices of a user on the line, else all: the shell does not tell which word is the user.
    static func deviceIDs(_ words: [String]) async -> [String] {
        await known(words) { records in
            let devices = try await records.devices(ListDevices()).items
            let named = devices.filter { words.contains($0.user.text) }
            return (named.isEmpty ? devices : named).prefix(most).map(\.deviceID.description)
        }
    }

    static func userNames(_ words: [String]) async -> [String] {
        await known(words) { try await Set($0.devices(ListDevices()).items.map(\.user)).sorted().map(\.text) }
    }

    static func groupNames(_ words: [String]) async -> [String] {
        await known(words) { try await $0.groups().map(\.name) }
    }

    static func aliasNames(_ words: [String]) async -> [String] {
        await known(words) { try await $0.aliases().map(\.alias.text) }
    }

    static func simulatedTokens(_ words: [String]) async -> [String] {
        let data = value(of: "--data", in: words).map { DataFolder(path: $0) } ?? .standard
        let folder = value(of: "--push-sim-data", in: words) ?? data.path + "/push-sim"
        let snapshot = try? await PushSimulatorAdmin(folder: folder).snapshot()
        return harmless(snapshot?.phones.map(\.token) ?? [])
    }

    /// Empty after an error: a shell cannot show the reason.
    private static func known(
        _ words: [String], _ read: (StoredRecords) async throws -> [String]
    ) async -> [String] {
        let found = try? await records(words, read)
        return harmless(found ?? [])
    }

    private static func records(
        _ words: [String], _ read: (StoredRecords) async throws -> [String]
    ) async throws -> [String] {
        if let address = try server(words) {
            let administration = Administration(address: address, client: try address.connect(patience: patience))
            let found = try? await read(.server(administration))
            await administration.client.close()
            return found ?? []
        }
        var data = DataOptions()
        data.path = value(of: "--data", in: words)
        return try await StoredRecords.with(try ServerOptions.store(data), replays: false, read)
    }

    /// The server of the command line, or of the environment when the line names no folder.
    private static func server(_ words: [String]) throws -> AdminAddress? {
        let environment = ProcessInfo.processInfo.environment
        let named = value(of: "--server", in: words)
        guard named != nil || value(of: "--data", in: words) == nil else { return nil }
        guard let name = named ?? environment["REVEILLE_SERVER"], !name.isEmpty else { return nil }
        let trust = value(of: "--ca-file", in: words).map { LWSContext.Trust.file($0) } ?? .system
        let certificate = value(of: "--client-certificate", in: words) ?? environment["REVEILLE_CLIENT_CERTIFICATE"]
        let key = value(of: "--client-key", in: words) ?? environment["REVEILLE_CLIENT_KEY"]
        return try AdminAddress(
            name, token: value(of: "--token", in: words) ?? environment["REVEILLE_TOKEN"], trust: trust,
            identity: certificate.map { TLSFiles(certificateFile: $0, keyFile: key ?? $0) }, source: "--server")
    }

    private static func value(of option: String, in words: [String]) -> String? {
        words.firstIndex(of: option).flatMap { words.dropFirst($0 + 1).first }
    }

    /// Names without terminal controls: a shell prints them unescaped.
    private static func harmless(_ names: [String]) -> [String] { names.filter { $0.shown == $0 } }
}
