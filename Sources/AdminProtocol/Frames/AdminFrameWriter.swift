import CallVocabulary
import Foundation

/// Writes frames of the admin API. Stateless; any thread.
public enum AdminFrameWriter {
    public static func request<Request: AdminRequest>(id: Int64, _ request: Request) -> [UInt8] {
        write(RequestFrame(id: id, params: request))
    }

    /// A request with the id 0.
    /// - Parameter params: a JSON object.
    package static func request(_ method: AdminMethod, params: [UInt8]) -> [UInt8] {
        Array(#"{"id":0,"jsonrpc":"2.0","method":"\#(method.rawValue)","params":"#.utf8) + params + Array("}".utf8)
    }

    /// The JSON of the result in a frame that ``result(id:_:)`` wrote for the id 0; nil for any other frame.
    package static func result(in frame: [UInt8]) -> [UInt8]? {
        // Members are sorted, so the result comes last.
        let head = #"{"id":0,"jsonrpc":"2.0","result":"#.utf8
        return frame.starts(with: head) ? Array(frame[head.count..<frame.count - 1]) : nil
    }

    public static func result(id: RequestID, _ response: some Encodable) -> [UInt8] {
        write(ResultFrame(id: id, result: response))
    }

    /// - Parameter id: nil when the request's id was unreadable.
    public static func error(id: RequestID?, _ error: AdminError) -> [UInt8] {
        write(ErrorFrame(id: id, error: error))
    }

    /// - Parameter method: a subscription method, which has notifications.
    public static func notification(of method: AdminMethod, _ params: some Encodable) -> [UInt8] {
        guard let name = method.notification else { preconditionFailure("\(method.rawValue) is no subscription") }
        return write(NotificationFrame(method: name, params: params))
    }

    /// A notification of ``AdminMethod/statsSubscribe`` that has figures in JSON, which several have in common.
    package static func statsChanged(subscription: Int, _ stats: [UInt8]) -> [UInt8] {
        // Members are sorted.
        Array(#"{"jsonrpc":"2.0","method":"stats.changed","params":{"stats":"#.utf8) + stats
            + Array(#","subscription":\#(subscription)}}"#.utf8)
    }

    /// A view without a frame, as HTTP has it.
    package static func json(_ view: some Encodable) -> [UInt8] { write(view) }

    private static func write(_ frame: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Frames consist of finite numbers, strings, and arrays and objects of them.
        guard let data = try? encoder.encode(frame) else { preconditionFailure("a frame that is no JSON: \(frame)") }
        return escaped(Array(data))
    }

    /// Escapes the characters that control a terminal, as JSON allows for any character (RFC 8259 §7). Frames contain
    /// client-chosen names, and tools print frames unchanged. The encoder already escapes those below U+0020.
    private static func escaped(_ frame: [UInt8]) -> [UInt8] {
        guard frame.contains(where: { $0 >= 0x7F }) else { return frame }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(frame.count + 64)
        for scalar in String(decoding: frame, as: UTF8.self).unicodeScalars {
            // Every scalar has a UTF-16 and a UTF-8 form.
            guard scalar.isHarmfulOnTerminals else {
                bytes += UTF8.encode(scalar)!
                continue
            }
            for unit in UTF16.encode(scalar)! {
                let digits = String(unit, radix: 16)
                bytes += "\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8
            }
        }
        return bytes
    }
}
