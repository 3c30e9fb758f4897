extension HTTPResponse {
    /// The bytes of the response on the wire.
    func encoded(withBody: Bool, _ persistence: RequestHead.Persistence) -> [UInt8] {
        var head = "HTTP/1.1 \(status) \(reasonPhrase)\r\n"
        // RFC 9110, 8.6: a 204 has no length, and a 304 only that of the whole response.
        let hasContent = status != 204 && status != 304
        if hasContent { head += "Content-Length: \(body.count)\r\n" }
        switch persistence {
        case .keep: break
        case .keepIfSaid: head += "Connection: keep-alive\r\n"
        case .close: head += "Connection: close\r\n"
        }
        for header in (hasContent ? [("Content-Type", contentType)] : []) + headers {
            // A line break in a value would inject headers.
            guard isSafe(header.0), isSafe(header.1) else { continue }
            head += "\(header.0): \(header.1)\r\n"
        }
        head += "\r\n"
        return Array(head.utf8) + (withBody ? body : [])
    }

    private func isSafe(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F } }

    /// Of RFC 9110, for the status codes in use. Clients ignore it.
    private var reasonPhrase: String {
        switch status {
        case 200: "OK"
        case 202: "Accepted"
        case 204: "No Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 304: "Not Modified"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 409: "Conflict"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 422: "Unprocessable Content"
        case 426: "Upgrade Required"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: "Status \(status)"
        }
    }
}
