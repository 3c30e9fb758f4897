import Foundation

/// Pointers that types of the wrapping targets keep, or that their events carry.
extension SourceRules {
    /// The type must outlive each read: see ``unextended(_:_:)``.
    private static let owned = "freed by the deinit of the type"
    private static let handle = "a handle of libuv, which deinit has freed in a later turn of the loop"
    private static let event = "in bytes of the caller, which are valid until the event has been delivered"
    private static let socket = "of libwebsockets, which says its end in a callback; it is set to nil there"

    /// What keeps the memory, by file and name.
    private static let keepers: [String: String] = [
        "ClientAuthorities.certificates": owned,
        "DescriptorWatch.handle": handle,
        "EventLoop+Handles.data": "of a search, which is over before its function returns",
        "EventLoop.loop": "freed when the loop's thread has ended; the thread retains the loop",
        "EventLoop.readBuffer": "freed when the loop's thread has ended; the thread retains the loop",
        "EventLoop.turnEnd": "freed when the loop's thread has ended; the thread retains the loop",
        "EventLoop.wakeUp": "freed when the loop's thread has ended; the thread retains the loop",
        "FrameReader.ping": event,
        "FrameReader.text": event,
        "FrameSession.body": event,
        "FrameSession.raw": owned,
        "HTTP2Channel.readBuffer": "freed by the deinit of the channel, which its socket's callbacks retain",
        "HTTP2ClientConnection.data": event,
        "LWSContext.context": "of libwebsockets, until `destroy`, before which the context is not released",
        "LWSContext.protocols": "freed by deinit, after the library's use",
        "LWSContext.retry": "freed by deinit, after the library's use",
        "LWSContext.slot": "freed by deinit, after the library's use",
        "LWSContext.strings": "freed by deinit, after the library's use",
        "LWSContext.vhost": "of libwebsockets, until `destroy`, before which the context is not released",
        "LoopTimer.handle": handle,
        "MessageAssembly.bytes": "of a chunk, which is the argument of a callback and is kept by nobody",
        "Notices.library": "the functions of libpq, which is never unloaded",
        "OperationChunk.bytes": "freed by the deinit of the chunk; `withBytes` keeps the chunk meanwhile",
        "OperationReader.bytes": "of the caller, who keeps them while the reader and its values are used",
        "OperationReader.identifier": "of the caller, who keeps them while the reader and its values are used",
        "OperationReader.text": "of the caller, who keeps them while the reader and its values are used",
        "PostgresConnection.library": "the functions of libpq, which is never unloaded",
        "PostgresConnection.raw": owned,
        "PostgresParameters.anywhere": "never freed, and never read",
        "PostgresParameters.inPlace": "of the caller, who keeps it until the statement was sent",
        "PostgresResult.library": "the functions of libpq, which is never unloaded",
        "PostgresResult.raw": owned,
        "PreciseTimer.handle": handle,
        "PreparedFields.block": owned,
        "PreparedFields.fields": owned,
        "SQLRow.raw": owned,
        "ServerSocket.handshake": owned,
        "ServerSocket.wsi": socket,
        "SocketAcceptor.poll": handle,
        "TCPConnection.bytes": "freed by the callback of the write",
        "TCPConnection.handle": "of libuv, which retains the connection until it has closed the handle",
        "TCPConnection.raw": "freed by the callback of the write",
        "TCPConnection.received": event,
        "TLSCertificate.certificates": owned,
        "TLSCertificate.chain": owned,
        "TLSCertificate.key": owned,
        "TLSClientContext.raw": "OpenSSL counts the references of sessions; the context is kept until it has one",
        "TLSConnection.received": event,
        "TLSIdentity.all": "freed at the end of the scope: the type is not copyable",
        "TLSServerContext.raw": "OpenSSL counts the references of sessions; the context is kept until it has one",
        "TLSSession.incoming": owned,
        "TLSSession.outgoing": owned,
        "TLSSession.ssl": owned,
        "WebConnection.received": event,
        "WebSocketClientConnection.received": event,
        "WebSocketClientConnection.wsi": socket,
    ]

    /// A pointer that is kept, or that an event carries, has a reason why its memory lasts. Where the reason is the
    /// type itself, the type is kept alive during each read.
    static func keptPointers(_ tree: SourceTree) -> [String] {
        var (named, found): (Set<String>, [String]) = ([], [])
        for file in wrappers.compactMap({ tree.package.target($0) }).flatMap({ tree.files(of: $0) }) {
            let type = file.path.split(separator: "/").last?.prefix { $0 != "." } ?? ""
            var own: Set<String> = []
            for index in file.lines.indices {
                guard let name = keptPointer(file.lines, index) else { continue }
                named.insert("\(type).\(name)")
                let reason = keepers["\(type).\(name)"]
                if reason == owned { own.insert(name) }
                if reason == nil {
                    let place = "\(file.path):\(index + 1): \(name)"
                    found.append("\(place) keeps a pointer; say in keepers what keeps its memory")
                }
            }
            if !own.isEmpty { found += unextended(file, own) }
        }
        // Only in the whole tree.
        let isWhole = wrappers.allSatisfy { tree.package.target($0) != nil }
        let unknown = isWhole ? Set(keepers.keys).subtracting(named).sorted() : []
        return found + unknown.map { "\($0) keeps no pointer; it has no reason" }
    }

    /// The name of the case or of the stored property in the line that has a pointer; nil for other lines.
    private static func keptPointer(_ lines: [String], _ index: Int) -> String? {
        // A regular expression for each line takes a minute in a debug build.
        guard lines[index].contains("Pointer") else { return nil }
        let code = withoutComment(lines[index])
        if let match = code.firstMatch(of: /^\s*(?:indirect )?case (\w+)[(,].*(?:Unsafe\w*|Opaque)Pointer/) {
            return String(match.1)
        }
        guard !code.contains("{"), !code.contains("->"),
            // Not \b: there is no boundary of words before a dot.
            let match = code.firstMatch(of: /\b(?:let|var) (\w+)(?:: | = )[^={]*?(?:Unsafe\w*|Opaque)Pointer(?!\w)/),
            isMember(lines, index)
        else { return nil }
        return String(match.1)
    }

    /// Getters and functions of one line that pass one of these pointers on. Their reading of it is the last use of the
    /// type, which could be released before the library has read the memory.
    static func unextended(_ file: SourceTree.File, _ names: Set<String>) -> [String] {
        file.lines.indices.compactMap { index -> String? in
            let line = withoutComment(file.lines[index])
            guard line.contains("var ") || line.contains("func ") || line.contains("subscript("),
                let brace = line.firstIndex(of: "{")
            else { return nil }
            var body = line[brace...]
            if line.hasSuffix("{") {
                guard index + 2 < file.lines.count, file.lines[index + 2].drop(while: { $0 == " " }) == "}" else {
                    return nil
                }
                body = withoutComment(file.lines[index + 1])
            }
            guard !body.contains("withExtendedLifetime("), !body.contains("withRaw"),
                let name = body.split(whereSeparator: { !$0.isLetter && $0 != "_" }).first(where: {
                    names.contains(String($0))
                })
            else { return nil }
            return "\(file.path):\(index + 1): \(name) is read without withExtendedLifetime"
        }
    }
}
