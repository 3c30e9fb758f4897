import Foundation

/// The tables of `Tests/SessionVectors`, which the browser's library obeys too.
enum SessionVectors {
    struct Connection: Decodable {
        struct Backoff: Decodable {
            /// In milliseconds.
            let bounds: [Int64]

            enum CodingKeys: String, CodingKey { case bounds = "bounds_ms" }
        }

        /// Where an input leads, by state and input; an input without an entry leaves the state as it is.
        let leads: [String: [String: String]]
        let backoff: Backoff
    }

    struct Calls: Decodable {
        struct State: Decodable {
            let groups: [String]
            let rows: [String: [String]]
        }

        /// Where the call stands, what the app is told and what is sent, by group and input.
        let groups: [String: [String: [String]]]
        let states: [String: State]

        /// The rows of a state, by input.
        func rows(of state: String) -> [String: [String]] {
            guard let own = states[state] else { return [:] }
            return own.groups.compactMap { groups[$0] }.reduce([:]) { $0.merging($1) { $1 } }
                .merging(own.rows) { $1 }
        }
    }

    static let connection: Connection = read("connection.json")
    static let calls: Calls = read("calls.json")

    private static func read<Content: Decodable>(_ name: String) -> Content {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "SessionVectors/\(name)")
        do {
            return try JSONDecoder().decode(Content.self, from: Data(contentsOf: file))
        } catch {
            preconditionFailure("\(file.path) cannot be read: \(error)")
        }
    }
}
