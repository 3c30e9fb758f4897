import CallVocabulary
import WireJSON

/// Writes frames: ``encode(_:now:into:)`` on a server, ``encode(_:into:)`` on a client.
///
/// Frames are appended to a buffer, so one can be used again and again. Stateless; may be used from any thread.
///
/// No frame is longer than ``CallVocabulary/FrameLimits/frame`` when its content came in through ``SignalDecoder`` and
/// was fitted where several messages' content meets: `IncomingCall.events(candidatesAreFinal:)` for buffered
/// candidates, `SessionOpened.fitToFrame()`, and `prefixThatFitsFrame` for `call.list`.
public enum SignalEncoder {
    /// Appends what the server says.
    ///
    /// - Parameter now: each `remaining_ms` is what is left then of its `expires_at`, never less than 0. To be called
    ///   anew for each write, replays included.
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

    /// Appends what a client says.
    public static func encode(_ message: ClientMessage, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { json in
            switch message {
            case .request(let id, let request): json.request(id, request)
            case .notification(let notification): json.notification(notification, id: nil)
            case .answeredNotification(let id, let notification): json.notification(notification, id: id)
            }
        }
    }

    /// Appends the error object alone, as HTTP answers carry it.
    public static func encode(_ error: SignalError, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { $0.value(error) }
    }

    /// Appends a result alone, as HTTP answers carry it.
    public static func encode(_ reply: Reply, now: Instant, into buffer: inout [UInt8]) {
        JSONWriter.append(to: &buffer) { $0.value(reply, now: now) }
    }
}
