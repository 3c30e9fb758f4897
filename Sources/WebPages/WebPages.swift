import CWebPages
import LibWebSockets

/// The web pages that a server sends: the files of Resources/web, which are embedded in the program, and those of a
/// folder. Immutable, in memory.
///
/// Answers use no other resource of the server. Each has an entity tag, so that a browser asks again and gets a 304
/// until a page changes.
public struct WebPages: Sendable {
    /// The clients of a listener.
    public enum Audience: Sendable {
        /// Users: the library, the softphone and the files of the folder.
        case users
        /// Administrators: the board.
        case administrators
    }

    /// The headers of each page. The policy permits nothing from other servers, no inline script, and no frame around a
    /// page (Content Security Policy Level 3).
    static let headers: [(name: String, value: String)] = [
        (
            "Content-Security-Policy",
            "default-src 'self'; connect-src 'self'; media-src 'self' blob:; img-src 'self' data:; object-src 'none'; "
                + "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
        ),
        ("Cache-Control", "no-cache"), ("Vary", "Accept-Encoding"), ("X-Content-Type-Options", "nosniff"),
        ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ]

    private var users: [String: WebPage] = [:]
    private var administrators: [String: WebPage] = [:]

    /// The embedded files.
    public static let embedded = WebPages()

    private init() {
        for index in 0..<reveille_web_file_count() {
            let file = reveille_web_file_at(index)
            let path = "/" + String(cString: file.path)
            let page = WebPage(path: path, content: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
            if path.hasPrefix("/board/") {
                administrators[path] = page
            } else {
                users[path] = page
            }
        }
    }

    /// The embedded files, and those of a folder, which are served to users before embedded files with the same path.
    /// - Throws: ``PageFolder/Fault`` if the folder cannot be read.
    public init(folder: String) throws(PageFolder.Fault) {
        self = .embedded
        for (path, content) in try PageFolder(folder).files { users[path] = WebPage(path: path, content: content) }
    }

    /// Whether there is a page, or a redirect to one, at the path.
    public func contains(_ path: String, for audience: Audience) -> Bool {
        let pages = pages(for: audience)
        return pages[Self.file(at: path)] != nil || pages[path + "/index.html"] != nil
    }

    /// The response to a GET or HEAD request; nil if there is no page at its path.
    public func response(to request: HTTPRequest, for audience: Audience) -> HTTPResponse? {
        let pages = pages(for: audience)
        guard let page = pages[Self.file(at: request.path)] else {
            // Relative paths in a page need the slash.
            guard pages[request.path + "/index.html"] != nil else { return nil }
            let target = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            let location = target[0] + "/" + (target.count > 1 ? "?" + target[1] : "")
            return HTTPResponse(status: 301, contentType: "text/plain", headers: [("Location", String(location))])
        }
        let (content, tag): ([UInt8], String)
        if let compressed = page.compressed, Self.takesGzip(request.acceptEncoding) {
            (content, tag) = (compressed, page.compressedTag)
        } else {
            (content, tag) = (page.content, page.tag)
        }
        var response = HTTPResponse(status: 200, contentType: page.contentType, headers: Self.headers)
        response.headers.append(("ETag", tag))
        if Self.matches(request.ifNoneMatch, tag) {
            response.status = 304
            return response
        }
        if content.count != page.content.count { response.headers.append(("Content-Encoding", "gzip")) }
        response.body = content
        return response
    }

    private func pages(for audience: Audience) -> [String: WebPage] {
        switch audience {
        case .users: users
        case .administrators: administrators
        }
    }

    private static func file(at path: String) -> String { path.hasSuffix("/") ? path + "index.html" : path }

    /// No browser sends a longer list, in bytes.
    private static let longestList = 1024

    /// A header's list; empty for one that no browser sends.
    private static func list(_ header: String?) -> String {
        header.flatMap { $0.utf8.count <= longestList ? $0 : nil } ?? ""
    }

    /// Whether `Accept-Encoding` lists gzip with a weight above 0 (RFC 9110, 12.5.3).
    private static func takesGzip(_ header: String?) -> Bool {
        list(header).lowercased().split(separator: ",").contains { element -> Bool in
            let parts = element.filter { $0 != " " && $0 != "\t" }.split(separator: ";")
            guard let name = parts.first, name == "gzip" || name == "x-gzip" else { return false }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }?.dropFirst(2)
            // A weight of 0 has no other digit: 0, 0.0, 0.00 or 0.000.
            return weight?.utf8.contains { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) } ?? true
        }
    }

    /// Whether `If-None-Match` lists the tag, compared weakly, or is `*` (RFC 9110, 13.1.2).
    private static func matches(_ header: String?, _ tag: String) -> Bool {
        for element in list(header).split(separator: ",") {
            let listed = element.filter { $0 != " " && $0 != "\t" }
            if listed == "*" || listed == tag || listed == "W/" + tag { return true }
        }
        return false
    }
}
