import AdminProtocol
import CallVocabulary
import Foundation
import LibWebSockets
import StoreInterface
import Testing

@testable import CallServer

/// The resources of backends, and their description in `reveille.backend.openapi.json`.
@Suite("Resources of backends")
struct BackendRouteTests {
    private struct Operation: Hashable {
        let method: String
        let path: String
    }

    private struct Content: Equatable {
        /// In `x-role`.
        let role: String
        /// The parameters of the query.
        let query: Set<String>
    }

    private static func documented() throws -> [Operation: Content] {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("Resources/reveille.backend.openapi.json")
        let document = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        let paths = try #require(document?["paths"] as? [String: [String: Any]])
        let components = document?["components"] as? [String: Any]
        let named = try #require(components?["parameters"] as? [String: [String: Any]])
        var contents: [Operation: Content] = [:]
        for (path, operations) in paths where path.hasPrefix(BackendRoute.root) {
            for (method, operation) in operations where method != "parameters" {
                let object = try #require(operation as? [String: Any])
                let listed = object["parameters"] as? [[String: Any]] ?? []
                let parameters = listed.map { parameter -> [String: Any] in
                    guard let reference = parameter["$ref"] as? String else { return parameter }
                    return named[String(reference.split(separator: "/").last ?? "")] ?? [:]
                }
                let query = parameters.filter { $0["in"] as? String == "query" }.compactMap { $0["name"] as? String }
                contents[Operation(method: method.uppercased(), path: path)] = Content(
                    role: object["x-role"] as? String ?? "", query: Set(query))
            }
        }
        return contents
    }

    @Test("each is documented with its role and the parameters of its query, and nothing else is")
    func documentation() throws {
        let served = BackendRoute.allCases.map { route in
            (
                Operation(method: route.place.method.rawValue, path: BackendRoute.root + route.place.path),
                Content(role: route.role.rawValue, query: Set(route.query))
            )
        }
        #expect(Set(served.map(\.0)).count == served.count, "no two are at one place")
        #expect(try Self.documented() == Dictionary(uniqueKeysWithValues: served))
    }

    @Test("each request of administrators that changes something has one, which takes the role admin")
    func changes() {
        for method in AdminMethod.allCases {
            guard case .changes = method.effect else { continue }
            let routes = BackendRoute.allCases.filter {
                if case .admin(method) = $0.handler { true } else { false }
            }
            #expect(routes.count == 1, "\(method.rawValue)")
            #expect(routes.allSatisfy { $0.role == .admin && $0.place.method != .get }, "\(method.rawValue)")
        }
    }

    @Test("none of them has notifications, which HTTP has not")
    func subscriptions() {
        for route in BackendRoute.allCases {
            if case .admin(let method) = route.handler { #expect(method.notification == nil) }
        }
    }

    @Test(
        "no text leaves its cell of a CSV file, or is a formula there",
        arguments: [
            ("alice", "alice"), ("a,b", "\"a,b\""), ("a\"b", "\"a\"\"b\""), ("a\r\nb", "\"a\r\nb\""), ("-5", "-5"),
            ("+81312345678", "+81312345678"), ("x\"\u{301},y", "\"x\"\"\u{301},y\""), ("y,\u{301}z", "\"y,\u{301}z\""),
            ("y\u{D4E},z", "\"y\u{D4E},z\""), ("=1", "\"'=1\""), ("=\u{301}1", "\"'=\u{301}1\""),
            ("@\u{20DD}A1", "\"'@\u{20DD}A1\""), ("\"=1", "\"'\"\"=1\""), ("'=1", "\"''=1\""), (" =1", "\"' =1\""),
            ("\t=1", "\"'\t'=1\""), ("\r=1", "\"'\r'=1\""), ("\u{FF1D}1", "\"'\u{FF1D}1\""), ("a=1", "a=1"), ("", ""),
            // With another separator the quotation marks of this cell are not the first sign of one.
            (";=1", "\";'=1\""), ("a;=1;", "\"a;'=1;\""), ("a; \"@A1", "\"a; \"\"'@A1\""), ("a;';+1", "\"a;';'+1\""),
            ("a\t-1", "\"a\t'-1\""), ("a|=1", "\"a|'=1\""), ("a,=1", "\"a,'=1\""), ("a\r\n=1", "\"a\r\n'=1\""),
            ("a;\u{FF1D}1", "\"a;'\u{FF1D}1\""), ("a;=\u{301}1", "\"a;'=\u{301}1\""), ("a;b", "\"a;b\""),
        ] as [(String, String)])
    func cells(text: String, cell: String) {
        #expect(Array(BackendExport.quoted(text).utf8) == Array(cell.utf8))
    }

    /// - Returns: the page; nil for a query that is refused.
    private func export(_ query: [String: String]) -> ExportPage? {
        do throws(SignalError) {
            return try BackendExport(.calls, query, accept: nil).page
        } catch {
            #expect(error.code == .invalidParams && error.message.contains("expected"))
            return nil
        }
    }

    @Test(
        "a time is from 1970 to 9999, in milliseconds or as a date",
        arguments: [
            ("0", 0), ("1767225600000", 1_767_225_600_000), ("253402300799999", 253_402_300_799_999),
            ("2026-01-01T00:00:00Z", 1_767_225_600_000), ("9999-12-31T23:59:59Z", 253_402_300_799_000),
            ("1970-01-01T00:00:00Z", 0), ("253402300800000", nil), ("9223372036854775807", nil),
            ("-9223372036854775808", nil), ("18446744073709551615", nil), ("99999999999999999999", nil), ("-1", nil),
            ("+5", nil), (" 5", nil), ("5 5", nil), ("1e400", nil), ("", nil), ("1969-12-31T23:59:59Z", nil),
            ("10000-01-01T00:00:00Z", nil), ("9999999999-01-01T00:00:00Z", nil),
            ("99999999999999999999-01-01T00:00:00Z", nil), ("-999-01-01T00:00:00Z", nil),
            ("2026-01-01T00:00:00.5Z", 1_767_225_600_500), ("2026-01-01T02:00:00+02:00", 1_767_225_600_000),
            ("9999-12-31T23:59:59-02:00", 253_402_300_799_999), ("1970-01-01T00:00:00+00:01", nil),
            ("2026-02-30T00:00:00Z", nil), ("2026-01-01T24:00:00Z", nil), ("2026-01-01T00:00:00Zxx", nil),
        ] as [(String, Int64?)])
    func times(text: String, milliseconds: Int64?) {
        #expect(export(["since": text])?.since?.milliseconds == milliseconds)
        #expect(export(["until": text])?.until?.milliseconds == milliseconds)
    }

    @Test(
        "a limit is digits, from 1 to 200",
        arguments: [
            "-1", "0", "201", "+5", " 5", "5 5", "1e400", "", "9223372036854775807", "-9223372036854775808",
            "18446744073709551615", "99999999999999999999",
        ])
    func numbers(_ text: String) {
        #expect(export(["limit": text]) == nil)
    }

    @Test(
        "a cursor is two numbers of digits",
        arguments: [
            "", ".", "1", "1.", ".1", "1..1", "1.1.1", "-1.1", "1.-1", "+1.1", "1.+1", " 1.1", "1 1.1", "1e400.1",
            "18446744073709551616.1", "1.9223372036854775808", "1.18446744073709551615",
        ])
    func unreadableCursors(_ text: String) {
        #expect(export(["cursor": text]) == nil)
    }

    @Test(
        "a page continues after any row, also after one whose time is damaged",
        arguments: [0, 1, 1_767_225_600_000, -1, .max, .min] as [Int64])
    func cursors(_ time: Int64) {
        let cursor = ExportCursor(at: Instant(milliseconds: time), serial: 7)
        #expect(export(["cursor": cursor.text])?.after == cursor)
        if time >= 0 { #expect(cursor.text == "\(time).7") }
    }

    @Test("a path is matched by its parts, and another method is told which there are")
    func matching() throws {
        guard case .route(.userGet, let parameters) = BackendRoute.match(.get, ["users", "a/b"]) else {
            Issue.record("no match")
            return
        }
        #expect(parameters == ["user": "a/b"])
        if case .route(.userGet, _) = BackendRoute.match(.head, ["users", "a"]) {} else { Issue.record("no HEAD") }
        if case .methods(let methods) = BackendRoute.match(.post, ["groups", "sales"]) {
            #expect(Set(methods) == [.get, .put, .delete])
        } else {
            Issue.record("no methods")
        }
        for path in [[], ["users"], ["calls", "x", "hangup", "y"], ["nothing"]] as [[String]] {
            if case .nothing = BackendRoute.match(.get, path) {} else { Issue.record("\(path) is matched") }
        }
    }
}
