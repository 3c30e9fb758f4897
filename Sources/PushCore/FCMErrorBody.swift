import CallVocabulary
import WireJSON

/// The fields used of an error body of FCM or of any other Google API:
/// `{"error":{"code":404,"message":"…","status":"NOT_FOUND","details":[{"@type":"…FcmError","errorCode":"UNREGISTERED"}]}}`.
///
/// Malformed input counts as a missing field, because the HTTP status alone yields a verdict.
struct FCMErrorBody {
    /// Codes in use are below 30 bytes; a longer one is not a code.
    private static let longestCode = 64
    /// The human-readable message is cut to this many scalars, and searched only then.
    private static let longestMessage = 200

    /// The `errorCode` of the FcmError detail.
    private(set) var errorCode: String?
    /// Google's canonical code.
    private(set) var status: String?
    private(set) var message: String?
    /// Whether a field violation names the token.
    private(set) var namesToken = false
    /// The quota that was exceeded; nil when nothing in the answer tells.
    private(set) var quota: Quota?

    enum Quota {
        /// Messages to one device, or to one topic.
        case device
        /// Messages of the whole project in a minute.
        case project
    }

    init(_ body: [UInt8]) {
        body.withUnsafeBytes { bytes in
            guard let root = try? JSONScanner.document(bytes), let error = root.member("error") else { return }
            status = Self.code(error.member("status"))
            message = error.member("message")?.longString?.printable(upTo: Self.longestMessage)
            error.member("details")?.forEachElement { read($0) }
            if quota == nil, let message { quota = Self.quota(inWords: message) }
        }
    }

    private mutating func read(_ detail: JSONValue) {
        let type = detail.member("@type")?.string ?? ""
        if type.hasSuffix(".FcmError") {
            errorCode = Self.code(detail.member("errorCode")) ?? errorCode
        } else if type.hasSuffix(".BadRequest") {
            detail.member("fieldViolations")?.forEachElement { violation in
                if violation.member("field")?.string == "message.token" { namesToken = true }
            }
        } else if type.hasSuffix(".QuotaFailure") {
            detail.member("violations")?.forEachElement { violation in
                for member in [violation.member("subject"), violation.member("description")] {
                    if let found = member?.string.flatMap(Self.quota(inWords:)) { note(found) }
                }
            }
        } else if type.hasSuffix(".ErrorInfo"), let limit = detail.member("metadata") {
            // `SendsPerMinutePerProject` and `1/min/{project}`, as seen in practice.
            for member in [limit.member("quota_limit"), limit.member("quota_unit"), limit.member("quota_metric")] {
                if let found = member?.string.flatMap(Self.quota(inWords:)) { note(found) }
            }
        }
    }

    /// A device quota outranks a project quota: it is the narrower one.
    private mutating func note(_ found: Quota) {
        if quota != .device { quota = found }
    }

    /// Google's names: "Device message rate exceeded", "Topic message rate exceeded", "Send requests per minute per
    /// project", `SendsPerMinutePerProject`.
    private static func quota(inWords text: String) -> Quota? {
        let words = text.lowercased()
        if words.contains("device") || words.contains("topic") { return .device }
        return words.contains("project") ? .project : nil
    }

    private static func code(_ value: JSONValue?) -> String? {
        guard let text = value?.string, !text.isEmpty, text.utf8.count <= longestCode else { return nil }
        let isCode = text.utf8.allSatisfy { byte in
            UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || byte == UInt8(ascii: "_")
        }
        return isCode ? text : nil
    }
}
