/// The few figures that are looked at first.
public struct Headlines: Sendable {
    /// What is looked for, in the order in which it is shown; a scenario has some of it.
    static let keys = [
        "completed_per_second", "completed", "home_kills", "home_gap_max", "pushes_per_second", "server_cpu_per_piece",
        "server_cpu_per_piece_by_metrics", "server_cores", "server_memory_per_session",
    ]
    private static let most = 5

    public let figures: [Figure]

    public init(_ report: LoadReport) {
        let found = Self.keys.compactMap { key in report.figures.first { $0.key == key } }
        // By the kernel and by its own metrics is the same thing twice.
        let once = found.filter { figure in
            figure.key != "server_cpu_per_piece_by_metrics" || !found.contains { $0.key == "server_cpu_per_piece" }
        }
        figures = Array(once.prefix(Self.most))
    }

    /// A key as words.
    public static func name(_ key: String) -> String { key.replacing("_", with: " ") }

    /// A group as the title of its figures.
    public static func name(_ group: Figure.Group) -> String {
        switch group {
        case .work: "Work"
        case .server: "Server"
        case .generator: "Load generator"
        case .pushes: "Pushes"
        }
    }
}
