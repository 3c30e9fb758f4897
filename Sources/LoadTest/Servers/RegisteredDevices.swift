import CallCore
import CallServer
import CallVocabulary
import StoreInterface

/// Devices that are registered with a server before it starts, and neither call nor are called: what a server of a
/// country has most of.
enum RegisteredDevices {
    private static let inOneCommit = 10_000

    /// Writes devices of as many users to a new store, each with a VoIP token: some seconds for a million.
    /// - Throws: ``LoadError``.
    static func write(_ count: Int, to store: StorePlace, at now: Instant) throws {
        let batches = stride(from: 0, to: count, by: inOneCommit).lazy.map { first in
            (first..<min(count, first + inOneCommit)).map { StoreRecord.device(device($0, at: now)) }
        }
        do {
            try store.fill(with: batches)
        } catch {
            throw LoadError("the registered devices cannot be written: \(error)")
        }
    }

    private static func device(_ number: Int, at now: Instant) -> DeviceRecord {
        // As long as a token of APNs, and with an end of its own.
        let hexadecimal = String(UInt64(number) &* 0x9E37_79B9_7F4A_7C15, radix: 16)
        let token = String(repeating: "0", count: 64 - hexadecimal.count) + hexadecimal
        return DeviceRecord(
            key: DeviceKey(
                // A word and a number are a handle.
                user: Handle("registered-\(number)")!, device: DeviceID(high: 7, low: UInt64(number))),
            platform: .ios, app: "org.example.phone 1.0", name: nil,
            tokens: [
                DeviceRecord.Token(
                    token: PushToken(
                        provider: .apns, kind: .voip, environment: .sandbox, topic: "org.example.phone.voip",
                        token: token),
                    registeredAt: now)
            ], seenAt: now, unreportedStreak: 0, suspendedAt: nil)
    }
}
