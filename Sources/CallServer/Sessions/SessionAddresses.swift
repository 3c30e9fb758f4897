import CallCore
import CallVocabulary
import LibWebSockets
import Synchronization

/// Where the sockets of sessions come from, for administrators. Written by the shards, read by the admin thread.
final class SessionAddresses: Sendable {
    private struct Place {
        let connection: ConnectionID
        let address: PeerAddress
    }

    private let places = Mutex<[DeviceKey: Place]>([:])

    /// The device's session has this connection from now on.
    func set(_ device: DeviceKey, _ connection: ConnectionID, _ address: PeerAddress) {
        places.withLock { $0[device] = Place(connection: connection, address: address) }
    }

    /// The connection is gone. One that has taken its place stays.
    func remove(_ device: DeviceKey, _ connection: ConnectionID) {
        places.withLock { places in
            guard places[device]?.connection == connection else { return }
            places[device] = nil
        }
    }

    /// nil where the device has no socket.
    subscript(device: DeviceKey) -> String? { places.withLock { $0[device]?.address.description } }
}
