import CallVocabulary
import WireJSON

/// Encodes frames: ``encode(_:now:into:)`` on a server, ``encode(_:into:)`` on a client.
///
/// Frames are appended to a buffer, which can be reused. Stateless; may be used from any thread.
///
/// No frame exceeds ``CallVocabulary/FrameLimits/frame`` if its content was decoded by ``SignalDecoder``, and was cut
/// where the content of several messages is combined. `IncomingCall.events(candidatesAreFinal:)` cuts buffered
/// candidates, `SessionOpened.fitToFrame()` and `prefixThatFitsFrame` cut snapshots.
public enum SignalEncoder {
    /// Appends a server message.
    ///
    /// - Parameter now: the time from which each `remaining_ms` counts, never less than 0. Encode again for each write,
    ///   replays included.
    public static func encode(_ message: ServerMessage, now: Instant, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { json in
            switch message {
            case .welcome(let welcome): json.notification(.welcome) { $0.members(welcome) }
            case .event(let seq, let event): json.event(seq: seq, event, now: now)
            case .reply(let id, let reply):
                json.response(id) { json in
                    json.field("result") { $0.value(reply, now: now) }
                }
            case .error(let id, let error):
                json.response(id) { json in
                    json.field("error") { $0.value(error) }
                }
            }
        }
    }

    /// Appends a client message.
    public static func encode(_ message: ClientMessage, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { json in
            switch message {
            case .request(let id, let request): json.request(id, request)
            case .notification(let notification): json.notification(notification, id: nil)
            case .answeredNotification(let id, let notification): json.notification(notification, id: id)
            }
        }
    }

    /// Appends an error object without its envelope, as in HTTP replies.
    public static func encode(_ error: SignalError, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { $0.value(error) }
    }

    /// Appends the object of `GET /v1/turn`.
    public static func encode(_ servers: [ICEServer], now: Instant, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { json in
            json.object { $0.iceServers(servers, now: now) }
        }
    }

    /// Appends a result without its envelope, as in HTTP replies.
    public static func encode(_ reply: Reply, now: Instant, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { $0.value(reply, now: now) }
    }
}
