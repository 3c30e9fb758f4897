import ChildProcess
import Foundation
import LibWebSockets
import TestCleanup
import Testing

@testable import WebPages

@Suite("Web pages", .cleanup)
struct WebPagesTests {
    private let pages = WebPages.embedded

    private func get(
        _ path: String, target: String? = nil, encodings: String? = nil, ifNoneMatch: String? = nil,
        from pages: WebPages = .embedded,
        for audience: WebPages.Audience = .users
    ) -> HTTPResponse? {
        pages.response(
            to: HTTPRequest(
                method: .get, target: target ?? path, path: path, acceptEncoding: encodings, ifNoneMatch: ifNoneMatch),
            for: audience)
    }

    private func header(_ name: String, _ response: HTTPResponse?) -> String? {
        response?.headers.first { $0.name == name }?.value
    }

    /// A new folder with files.
    private func folder(_ files: [String: String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pages-\(UUID())").path
        atEnd { try? FileManager.default.removeItem(atPath: folder) }
        for (name, text) in files {
            let path = "\(folder)/\(name)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        return folder
    }

    @Test("every file of Resources/web is embedded, byte for byte")
    func embedded() throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Resources/web").path
        let files = try PageFolder(folder).files
        #expect(files.keys.contains("/reveille.js"))
        for (path, content) in files {
            let audience = path.hasPrefix("/board/") ? WebPages.Audience.administrators : .users
            #expect(get(path, for: audience)?.body == content, "\(path)")
        }
    }

    @Test("a browser gets gzip, which gzip(1) expands to the same bytes; others get the bytes")
    func compressed() async throws {
        let plain = try #require(get("/reveille.js"))
        #expect(plain.contentType == "text/javascript; charset=utf-8")
        #expect(header("Content-Encoding", plain) == nil)
        for encodings in ["identity", "gzip;q=0, br", "gzip; q=0.0", "gzip;q=0.000", "gzip;q=nan", "xgzip", ""] {
            #expect(get("/reveille.js", encodings: encodings)?.body == plain.body, "\(encodings)")
        }
        for encodings in ["gzip, deflate, br", "br;q=1.0, gzip;q=0.5", "X-GZIP", "gzip;q=1e400", "gzip;q=0.001"] {
            let response = try #require(get("/reveille.js", encodings: encodings))
            #expect(header("Content-Encoding", response) == "gzip" && header("Vary", response) == "Accept-Encoding")
            let path = try folder(["page.gz": ""]) + "/page.gz"
            try Data(response.body).write(to: URL(fileURLWithPath: path))
            #expect(
                try await ChildProcess.run("/bin/gzip", ["-dc", path]).output
                    == String(decoding: plain.body, as: UTF8.self))
        }
    }

    @Test("a browser that has a page gets 304; each representation has a tag of its own")
    func unchanged() throws {
        for encodings in ["gzip", "identity"] {
            let response = try #require(get("/reveille.js", encodings: encodings))
            let tag = try #require(header("ETag", response))
            for shown in [tag, "W/\(tag)", "\"other\", \(tag)", "*"] {
                let again = try #require(get("/reveille.js", encodings: encodings, ifNoneMatch: shown))
                #expect(again.status == 304 && again.body.isEmpty && header("ETag", again) == tag)
                #expect(header("Cache-Control", again) == "no-cache")
            }
            #expect(get("/reveille.js", encodings: encodings, ifNoneMatch: "\"other\"")?.status == 200)
        }
        let plainTag = header("ETag", get("/reveille.js"))
        #expect(get("/reveille.js", encodings: "gzip", ifNoneMatch: plainTag)?.status == 200)
    }

    @Test("a folder's path gets its index; without the slash, a redirect")
    func folders() throws {
        #expect(get("/phone/")?.contentType == "text/html; charset=utf-8")
        let redirect = get("/phone")
        #expect(redirect?.status == 301 && header("Location", redirect) == "/phone/")
        #expect(header("Location", get("/phone", target: "/%70hone?x=1?")) == "/%70hone/?x=1?")
        for path in ["/", "/phone/..", "/phone/../reveille.js", "//reveille.js", "/Reveille.js", "/phone//", ""] {
            #expect(get(path) == nil, "\(path)")
        }
    }

    @Test("own pages come before embedded ones and beside them; hidden files and links are left out")
    func own() throws {
        let root = try folder([
            "index.html": "<p>mine", "phone/index.html": "<p>my phone", "sounds/ring.mp3": "la", ".htpasswd": "secret",
            ".git/config": "secret",
        ])
        try FileManager.default.createSymbolicLink(
            atPath: "\(root)/hosts", withDestinationPath: "/etc/hosts")
        let pages = try WebPages(folder: root)
        #expect(get("/", from: pages)?.body == Array("<p>mine".utf8))
        #expect(get("/phone/", from: pages)?.body == Array("<p>my phone".utf8))
        #expect(get("/sounds/ring.mp3", from: pages)?.contentType == "audio/mpeg")
        #expect(get("/reveille.js", from: pages)?.body == get("/reveille.js")?.body)
        for path in ["/.htpasswd", "/.git/config", "/hosts"] { #expect(get(path, from: pages) == nil, "\(path)") }
        #expect(get("/index.html", from: pages, for: .administrators) == nil)
    }

    @Test("a folder that is none, or holds too much, is a fault that says what to do")
    func faults() throws {
        let file = try folder(["large.bin": ""]) + "/large.bin"
        #expect(
            throws: PageFolder.Fault(
                reason: "cannot read \(file): it is not a folder", advice: "name the folder with your pages")
        ) {
            try WebPages(folder: file)
        }
        try Data(count: PageFolder.longestFile + 1).write(to: URL(fileURLWithPath: file))
        let fault = #expect(throws: PageFolder.Fault.self) {
            try WebPages(folder: (file as NSString).deletingLastPathComponent)
        }
        #expect(fault?.advice == "serve large files with a web server")
    }

    @Test("every page forbids scripts, styles and connections of other servers, and frames")
    func policy() throws {
        let policy = try #require(header("Content-Security-Policy", get("/phone/")))
        for part in ["default-src 'self'", "connect-src 'self'", "object-src 'none'", "frame-ancestors 'none'"] {
            #expect(policy.contains(part))
        }
        #expect(!policy.contains("unsafe"))
    }
}
