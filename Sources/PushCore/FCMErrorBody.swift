import SignalProtocol

/// What is of use in an error body of FCM's, or of any of Google's APIs:
/// `{"error":{"code":404,"message":"…","status":"NOT_FOUND","details":[{"@type":"…FcmError","errorCode":"UNREGISTERED"}]}}`.
///
/// Tolerant on purpose: whatever cannot be read counts as not given, because the status alone decides enough.
struct FCMErrorBody {
    /// Codes in use are below 30 bytes; a longer one is not a code.
    private static let longestCode = 64
    /// Words for people; no more of them is kept.
    private static let longestMessage = 200

    /// Of the FcmError detail.
    private(set) var errorCode: String?
    /// Google's canonical code.
    private(set) var status: String?
    private(set) var message: String?
    /// Whether a field violation names the token.
    private(set) var namesToken = false
    /// Whether the quota that was used up is one device's, not the project's.
    private(set) var namesDevice = false

    init(_ body: [UInt8]) {
        body.withUnsafeBytes { bytes in
            guard let root = try? JSONScanner.document(bytes), let error = root.member("error") else { return }
            status = Self.code(error.member("status"))
            message = error.member("message")?.string.map { String($0.prefix(Self.longestMessage)) }
            error.member("details")?.forEachElement { read($0) }
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
                let words = [violation.member("subject")?.string, violation.member("description")?.string]
                if words.contains(where: { $0?.lowercased().contains("device") == true }) { namesDevice = true }
            }
        }
    }

    private static func code(_ value: JSONValue?) -> String? {
        guard let text = value?.string, !text.isEmpty, text.utf8.count <= longestCode else { return nil }
        let isCode = text.utf8.allSatisfy { byte in
            UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte || byte == UInt8(ascii: "_")
        }
        return isCode ? text : nil
    }
}
