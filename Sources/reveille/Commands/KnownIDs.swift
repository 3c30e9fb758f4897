import ArgumentParser
import CallCore
import CallServer
import CallStore
import CallVocabulary

/// What a shell offers where an id or a user is asked for: those of the store, the newest ones, which are the likeliest.
enum KnownIDs {
    private static let most = 50

    static let calls = CompletionKind.custom { words, _, _ in callIDs(words) }
    static let pushes = CompletionKind.custom { words, _, _ in pushIDs(words) }
    static let devices = CompletionKind.custom { words, _, _ in deviceIDs(words) }
    static let users = CompletionKind.custom { words, _, _ in userNames(words) }

    static func callIDs(_ words: [String]) -> [String] {
        reader(words).flatMap { try? $0.calls(CallFilter(limit: most)).map(\.id.description) } ?? []
    }

    static func pushIDs(_ words: [String]) -> [String] {
        reader(words).flatMap { try? $0.pushes(PushFilter(limit: most)).map(\.id.description) } ?? []
    }

    /// Those of the user on the line, else of all: which word is the user is not said.
    static func deviceIDs(_ words: [String]) -> [String] {
        let devices = known(words)
        let named = devices.filter { words.contains($0.key.user.text) }
        return (named.isEmpty ? devices : named).prefix(most).map(\.key.device.description)
    }

    static func userNames(_ words: [String]) -> [String] { Set(known(words).map(\.key.user)).sorted().map(\.text) }

    private static func known(_ words: [String]) -> [DeviceRecord] {
        reader(words).flatMap { try? $0.devices() } ?? []
    }

    /// The store of the folder that stands on the line so far, else of the standard one.
    private static func reader(_ words: [String]) -> StoreReader? {
        let named = words.firstIndex(of: "--data").map { words.dropFirst($0 + 1).first } ?? nil
        return try? StoreReader.open(
            folder: (named.map { DataFolder(path: $0) } ?? .standard).path, replays: false)
    }
}
