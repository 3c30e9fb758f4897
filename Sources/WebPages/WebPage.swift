import CWebPages
import Crypto

/// One file of the web pages, ready to be sent.
struct WebPage: Sendable {
    let contentType: String
    let content: [UInt8]
    /// The content in the gzip format; nil when that is not shorter.
    let compressed: [UInt8]?
    /// The entity tag of `content` (RFC 9110, 8.8.3).
    let tag: String
    /// The entity tag of `compressed`, which is another representation.
    let compressedTag: String

    /// - Parameter path: its ending decides on the content type.
    init(path: String, content: [UInt8]) {
        let type = Self.types[path.split(separator: ".").last.map { $0.lowercased() } ?? ""]
        contentType = type?.name ?? "application/octet-stream"
        self.content = content
        compressed = type?.isCompressible == true ? Self.gzip(content) : nil
        let digest = SHA256.hash(data: content).prefix(12).map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        tag = "\"\(digest)\""
        compressedTag = "\"\(digest)-gzip\""
    }

    private static let types: [String: (name: String, isCompressible: Bool)] = [
        "html": ("text/html; charset=utf-8", true), "css": ("text/css; charset=utf-8", true),
        "js": ("text/javascript; charset=utf-8", true), "mjs": ("text/javascript; charset=utf-8", true),
        "ts": ("text/plain; charset=utf-8", true), "txt": ("text/plain; charset=utf-8", true),
        "md": ("text/plain; charset=utf-8", true), "json": ("application/json", true),
        "map": ("application/json", true), "webmanifest": ("application/manifest+json", true),
        "svg": ("image/svg+xml", true), "wasm": ("application/wasm", true), "png": ("image/png", false),
        "jpg": ("image/jpeg", false), "jpeg": ("image/jpeg", false), "webp": ("image/webp", false),
        "gif": ("image/gif", false), "ico": ("image/x-icon", false), "woff2": ("font/woff2", false),
        "wav": ("audio/wav", false), "mp3": ("audio/mpeg", false), "ogg": ("audio/ogg", false),
        "mp4": ("video/mp4", false), "webm": ("video/webm", false),
    ]

    private static func gzip(_ content: [UInt8]) -> [UInt8]? {
        guard content.count > 1 else { return nil }
        let compressed = [UInt8](unsafeUninitializedCapacity: content.count - 1) { buffer, count in
            count = reveille_gzip(content, content.count, buffer.baseAddress, buffer.count)
        }
        return compressed.isEmpty ? nil : compressed
    }
}
