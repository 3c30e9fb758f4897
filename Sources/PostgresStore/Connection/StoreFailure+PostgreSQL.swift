import CallVocabulary
import StoreInterface

extension StoreFailure {
    /// An error of a statement.
    /// - Parameter isLost: whether the connection is lost with it.
    init(sqlState: String?, message: String, isLost: Bool, path: String) {
        let state = sqlState ?? ""
        var detail = Self.oneLine(message, or: "the connection is lost")
        if Self.ofPoolers.contains(state) { detail = "\(PoolerCheck.fault): \(detail)" }
        self.init(
            isLost && Self.reason(state) == nil ? .unreachable : Self.reason(state) ?? .postgreSQL(state), path: path,
            detail: state.isEmpty ? detail : "\(detail) (SQLSTATE \(state))")
    }

    /// A prepared statement is missing, or is there already: it is another session's. A connection prepares each
    /// statement once.
    private static let ofPoolers = ["26000", "42P05"]

    /// Appendix A of PostgreSQL's manual, "PostgreSQL Error Codes".
    private static func reason(_ state: String) -> Reason? {
        switch state {
        case "53100": .diskFull
        case "53300": .tooManyConnections
        case "42501", "28000", "28P01": .accessDenied
        case "3D000": .noStore
        case _ where ofPoolers.contains(state): .unsuitableDatabase
        case "25006": .cannotWrite
        case "58030": .inputOutput
        case "57014", "55P03", "40P01", "40001": .busy
        case "", "57P01", "57P02", "57P03", "57P05", "25P03": .unreachable
        default:
            switch state.prefix(2) {
            case "08": .unreachable
            case "XX": .corrupted
            default: nil
            }
        }
    }

    /// How messages of libpq about the URI begin; those about a server begin with "connection to server".
    private static let faultsOfURI = [
        "invalid ", "missing ", "extra key", "unexpected ", "end of string", "IPv6 host", "could not match ",
        "definition of service",
    ]

    /// An error of an attempt to connect, which libpq gives as text only: a line for each host.
    init(connecting message: String, path: String) {
        let hosts = message.split(whereSeparator: \.isNewline)
        if !hosts.isEmpty, hosts.allSatisfy({ $0.contains("session is read-only") }) {
            self.init(.cannotWrite, path: path, detail: Self.oneLine(message, or: ""))
            return
        }
        // Some options are read only when the connection is made.
        if Self.faultsOfURI.contains(where: message.hasPrefix) || message.contains("for connection option") {
            self.init(.invalidAddress, path: path, detail: Self.withoutQuotations(Self.oneLine(message, or: "")))
            return
        }
        let reasons: [(text: String, reason: Reason)] = [
            ("the database system is", .unreachable), ("too many clients", .tooManyConnections),
            ("connection slots are reserved", .tooManyConnections),
            ("too many connections", .tooManyConnections), ("authentication failed", .accessDenied),
            ("no pg_hba.conf entry", .accessDenied), ("no password supplied", .accessDenied),
            ("permission denied", .accessDenied), ("role ", .accessDenied), ("database ", .noStore),
        ]
        let found = reasons.first { message.contains($0.text) }
        self.init(found?.reason ?? .unreachable, path: path, detail: Self.oneLine(message, or: "it is unreachable"))
    }

    /// A message about the URI without what it quotes, from the first quotation mark to the last: that may be a part of a
    /// password, with quotation marks of its own.
    private static func withoutQuotations(_ message: String) -> String {
        let (bytes, mark) = (Array(message.utf8), UInt8(ascii: "\""))
        guard let first = bytes.firstIndex(of: mark), let last = bytes.lastIndex(of: mark) else { return message }
        return String(decoding: bytes[..<first], as: UTF8.self) + "\"…\""
            + String(decoding: bytes[(last + 1)...], as: UTF8.self)
    }

    /// Messages of libpq end with a line break, and some have several lines. They may quote a server that is not PostgreSQL.
    static func oneLine(_ text: String, or other: String) -> String {
        let lines = text.split(whereSeparator: \.isNewline).map { line in
            String(line.drop { $0.isWhitespace })
        }
        return lines.isEmpty ? other : lines.joined(separator: "; ").printable(upTo: 1000)
    }

    /// Runs `body`, and converts what it throws, which is a ``StoreFailure`` of a connection to `path`.
    static func wrap<Result>(_ path: String, _ body: () throws -> Result) throws(StoreFailure) -> Result {
        do {
            return try body()
        } catch let failure as StoreFailure {
            throw failure
        } catch {
            throw StoreFailure(.inputOutput, path: path, detail: "\(error)")
        }
    }
}
