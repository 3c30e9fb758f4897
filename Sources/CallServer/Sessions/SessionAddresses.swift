import CallCore
import CallVocabulary
import LibWebSockets
import Synchronization

/// The peer addresses of sessions, for administrators. Written by the shards, read by the admin thread.
final class SessionAddresses: Sendable {
    private struct Place {
        let connection: ConnectionID
        let address: PeerAddress
    }

    private let places = Mutex<[DeviceKey: Place]>([:])

    /// Sets the connection of the device's session.
    func set(_ device: DeviceKey, _ connection: ConnectionID, _ address: PeerAddress) {
        places.withLock { $0[device] = Place(connection: connection, address: address) }
    }

    /// Removes a closed connection, unless another one has replaced it.
    func remove(_ device: DeviceKey, _ connection: ConnectionID) {
        places.withLock { places in
            guard places[device]?.connection == connection else { return }
            places[device] = nil
        }
    }

    /// nil when the device has no socket.
    subscript(device: DeviceKey) -> String? { places.withLock { $0[device]?.address.description } }
}
