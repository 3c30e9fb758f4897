import CallServer
import CallVocabulary
import EventLoop
import Foundation
import PhoneSimulator

/// The state of a terminal phone between two runs: its device id and push tokens.
struct PhoneMemory: Codable {
    var device: String
    var deviceToken: String?
    /// The same for alerts.
    var alertToken: String?
    /// The same for an Android phone's messages.
    var messageToken: String?
    /// The same for a browser.
    var subscription: String?
    /// The server's key that the subscription was made with.
    var serverKey: String?

    /// The token of the last run on this system.
    func token(_ system: WakeablePhone.System) -> String? {
        switch system {
        case .iPhone: deviceToken
        case .android: messageToken
        case .web: subscription
        }
    }

    private static func path(_ user: Handle, _ folder: DataFolder) -> String {
        // A handle may hold a slash, or be too long for a name of a file: then its bytes in hexadecimal, in two folders.
        let digits = user.text.utf8.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        return folder.path + "/phones/" + digits.prefix(128) + "/" + digits.dropFirst(128) + "phone.json"
    }

    static func load(_ user: Handle, _ folder: DataFolder) -> PhoneMemory {
        guard let content = try? PrivateFile.read(path(user, folder)),
            let memory = try? JSONDecoder().decode(PhoneMemory.self, from: Data(content)),
            DeviceID(memory.device) != nil
        else { return PhoneMemory(device: DeviceID.random().description) }
        return memory
    }

    func save(_ user: Handle, _ folder: DataFolder) throws {
        try FileManager.default.createDirectory(
            atPath: (Self.path(user, folder) as NSString).deletingLastPathComponent, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try PrivateFile.write(try JSONEncoder().encode(self), to: Self.path(user, folder))
    }
}
