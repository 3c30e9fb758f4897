import Foundation

/// A line of a program's log, for people.
enum LogLine {
    /// Of `{"time":"2026-05-04T10:20:30.123Z","level":"error","logger":"store","message":"…","path":"/x"}`:
    /// `10:20:30 error: …, path /x`; any other line as it is.
    static func readable(_ line: some StringProtocol) -> String {
        guard var entry = (try? JSONSerialization.jsonObject(with: Data(line.utf8))) as? [String: Any],
            let message = entry.removeValue(forKey: "message") as? String
        else { return String(line) }
        // Between the date and the fraction of a second.
        let time = (entry.removeValue(forKey: "time") as? String)?.split(separator: "T").last?.prefix(8)
        let level = entry.removeValue(forKey: "level").map { "\($0):" }
        entry["logger"] = nil
        let head = [time.map(String.init), level, message].compactMap(\.self).joined(separator: " ")
        let rest = entry.sorted { $0.key < $1.key }.map { ", \($0.key) \($0.value)" }
        return head + rest.joined()
    }
}
