import CallVocabulary
import Foundation

/// Writes frames of the admin API. Stateless; any thread.
public enum AdminFrameWriter {
    public static func request<Request: AdminRequest>(id: Int64, _ request: Request) -> [UInt8] {
        write(RequestFrame(id: id, params: request))
    }

    public static func result(id: RequestID, _ response: some Encodable) -> [UInt8] {
        write(ResultFrame(id: id, result: response))
    }

    /// - Parameter id: nil when the request's could not be read.
    public static func error(id: RequestID?, _ error: AdminError) -> [UInt8] {
        write(ErrorFrame(id: id, error: error))
    }

    /// - Parameter method: of the subscription; it has notifications.
    public static func notification(of method: AdminMethod, _ params: some Encodable) -> [UInt8] {
        guard let name = method.notification else { preconditionFailure("\(method.rawValue) is no subscription") }
        return write(NotificationFrame(method: name, params: params))
    }

    private static func write(_ frame: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // The frames hold numbers that are finite, strings, and what is made of them.
        guard let data = try? encoder.encode(frame) else { preconditionFailure("a frame that is no JSON: \(frame)") }
        return Array(data)
    }
}
