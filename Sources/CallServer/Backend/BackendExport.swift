import AdminProtocol
import AdminServer
import CallCore
import CallMonitor
import CallVocabulary
import Foundation
import LibWebSockets
import Logging
import StoreInterface

/// A page of ended calls, or of closed pushes. New rows are only appended to the order, so a backend that continues at
/// `next` reads each row exactly once.
struct BackendExport: Sendable {
    enum Kind: Sendable {
        case calls, pushes
    }

    enum Format: Sendable {
        case json, csv
    }

    static let longestPage = 200

    let kind: Kind
    let page: ExportPage
    let format: Format

    init(_ kind: Kind, _ query: [String: String], accept: String?) throws(SignalError) {
        self.kind = kind
        format = accept?.lowercased().contains("text/csv") == true ? .csv : .json
        var page = ExportPage()
        page.since = try Self.instant("since", in: query)
        page.until = try Self.instant("until", in: query)
        if let text = query["limit"] {
            guard let limit = Int(digits: text, in: 1...Self.longestPage) else {
                throw SignalError(.invalidParams, "limit: expected 1 to \(Self.longestPage)")
            }
            page.limit = limit
        }
        if let text = query["cursor"] {
            guard let cursor = ExportCursor(text) else {
                throw SignalError(.invalidParams, "cursor: expected the next of the page before")
            }
            page.after = cursor
        }
        self.page = page
    }

    /// RFC 3339, or milliseconds since 1970; from 1970 to 9999.
    private static func instant(_ name: String, in query: [String: String]) throws(SignalError) -> Instant? {
        guard let text = query[name] else { return nil }
        if let milliseconds = Int64(digits: text, in: 0...Instant.latest.milliseconds) {
            return Instant(milliseconds: milliseconds)
        }
        guard let instant = Timestamp(rfc3339: text)?.instant, instant.milliseconds >= 0 else {
            throw SignalError(
                .invalidParams,
                "\(name): expected a time from 1970 to 9999, as 2026-01-31T00:00:00Z or in ms since 1970")
        }
        return min(instant, .latest)
    }

    /// Reads the page.
    /// - Parameters:
    ///   - horizon: every row before this time is in the store.
    ///   - log: gets a line for each row that is left out because it is damaged.
    func response(
        _ queries: any StoreQueries, before horizon: Instant, log: Logger
    ) async throws -> HTTPResponse {
        var page = page
        page.until = min(page.until ?? horizon, horizon)
        switch kind {
        case .calls:
            let found = try await queries.endedCalls(page)
            report(found.unreadable, log)
            return response(found.rows.map { CallView($0) }, found.next, found.unreadable, CallLine.self)
        case .pushes:
            let found = try await queries.closedPushes(page)
            report(found.unreadable, log)
            return response(found.rows.map { PushView($0) }, found.next, found.unreadable, PushLine.self)
        }
    }

    private func report(_ unreadable: [StoreFailure], _ log: Logger) {
        for failure in unreadable {
            log.error(
                "an export leaves out a row that holds a damaged value", metadata: ["row": .string(failure.detail)])
        }
    }

    /// - Parameter next: nil if nothing was found; the backend then continues at the page's own cursor.
    private func response<Line: ExportLine>(
        _ items: [Line.Item], _ next: ExportCursor?, _ unreadable: [StoreFailure], _: Line.Type
    ) -> HTTPResponse {
        let next = (next ?? page.after).map(\.text)
        var response: HTTPResponse
        switch format {
        case .json:
            response = .json(
                AdminFrameWriter.json(
                    ExportAnswer(
                        items: items, next: next, unreadable: unreadable.isEmpty ? nil : unreadable.map(\.detail))))
        case .csv:
            let lines = [Line.names] + items.map { Line.values($0) }
            let text = lines.map { $0.map(Self.quoted).joined(separator: ",") + "\r\n" }.joined()
            response = HTTPResponse(
                status: 200, contentType: "text/csv; charset=utf-8; header=present", body: Array(text.utf8))
        }
        response.headers = [("Cache-Control", "no-store")]
        if let next { response.headers.append(("Reveille-Next", next)) }
        if !unreadable.isEmpty { response.headers.append(("Reveille-Unreadable", "\(unreadable.count)")) }
        return response
    }

    /// A CSV field (RFC 4180). A text that a spreadsheet would read as a formula gets an apostrophe, and so does a part
    /// of it that would be a cell of its own where another separator is set, which does not know these quotation marks.
    static func quoted(_ text: String) -> String {
        let text = (isFormula(text) ? "'" : "") + withoutFormulas(text)
        guard text.utf8.contains(where: { ",;|\t\"\r\n'".utf8.contains($0) }) else { return text }
        return "\"" + text.replacingBytes("\"", with: "\"\"") + "\""
    }

    /// With which a formula begins, also in full width.
    private static let signs = Set("=+-@\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars)
    /// Between cells and rows, as readers of CSV may be set.
    private static let separators = Set(",;|\t\r\n".unicodeScalars)
    /// What some programs remove before the first sign.
    private static let removed = Set(" \"'".unicodeScalars)

    /// Whether a spreadsheet would read the text as a formula, by its first sign.
    private static func isFormula(_ text: String) -> Bool {
        guard let first = text.unicodeScalars.first(where: { !removed.contains($0) }) else { return false }
        return (signs.contains(first) || "\t\r\n".unicodeScalars.contains(first)) && Int64(text) == nil
    }

    /// The text with an apostrophe before each sign that would be the first of a cell behind a separator.
    private static func withoutFormulas(_ text: String) -> String {
        var (result, isStart) = (String.UnicodeScalarView(), false)
        for scalar in text.unicodeScalars {
            if isStart, signs.contains(scalar) { result.append("'") }
            result.append(scalar)
            isStart = separators.contains(scalar) || isStart && removed.contains(scalar)
        }
        return String(result)
    }
}

extension ExportCursor {
    /// The digits of the time's bits, as a damaged time may be negative, and of the serial.
    var text: String { "\(UInt64(bitPattern: at.milliseconds)).\(serial)" }

    fileprivate init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = UInt64(digits: parts[0], in: 0...UInt64.max),
            let serial = Int64(digits: parts[1], in: 0...Int64.max)
        else { return nil }
        self.init(at: Instant(milliseconds: Int64(bitPattern: time)), serial: serial)
    }
}

/// A page in JSON.
private struct ExportAnswer<Item: Encodable>: Encodable {
    let items: [Item]
    let next: String?
    /// The rows that are left out, because they hold a damaged value.
    let unreadable: [String]?
}

/// The columns of an export.
protocol ExportLine {
    associatedtype Item: Codable & Equatable & Sendable
    static var names: [String] { get }
    static func values(_ item: Item) -> [String]
}
