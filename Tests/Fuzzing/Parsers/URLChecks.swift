import CallVocabulary
import LibWebSockets
import OutgoingHTTP

/// A parsed URL, origin or id equals the one parsed from its description.
enum URLChecks {
    static func check(_ bytes: [UInt8]) throws(Violation) {
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self)
            try check(text)
        }
    }

    private static func check(_ text: String) throws(Violation) {
        if let url = WebSocketURL(text) {
            try require(WebSocketURL(url.description) == url, "\(text.debugDescription) is written as \(url)")
            try require(url.port > 0 && !url.host.isEmpty && url.path.hasPrefix("/"), "\(url)")
        }
        if let url = WebAddress(text) {
            try require(WebAddress(url.description) == url, "\(text.debugDescription) is written as \(url)")
            try require(url.target.hasPrefix("/"), "the target of \(url) is \(url.target)")
            try require(url.target.utf8.allSatisfy { (0x21...0x7E).contains($0) }, "the target \(url.target)")
        }
        if let origins = AllowedOrigins(text), case .only(let names) = origins {
            let again = AllowedOrigins(names.joined(separator: ","))
            try require(again == origins, "\(names) are read as \(String(describing: again))")
        }
        if let handle = Handle(text) {
            try require(handle.text.utf8.elementsEqual(text.utf8), "\(handle) differs from its text")
            try require(Handle(known: text) == handle, "\(handle) is not taken from the store")
        }
        if let id = CallID(text) { try require(id.description == text.lowercased(), "\(id) is written as another") }
    }
}
