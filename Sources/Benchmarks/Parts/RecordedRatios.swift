/// What each figure's ratio to its reference was when it was last recorded: medians of release builds. Another machine has
/// others, so what counts is how they change on one.
enum RecordedRatios {
    enum Part: String {
        case codec, core, timers, store, mailbox, sockets
    }

    static let machine = "two shared cores of a virtual machine (x86-64, AMD EPYC), its disk virtual, release build"

    static func ratio(of figure: String, in part: Part) -> Double? { all[part]?[figure] }

    /// By the names of the figures.
    static let all: [Part: [String: Double]] = [
        .codec: [
            "scan of an invite": 0.466,
            "invite decoded": 1.8,
            "frames of a call decoded": 3.25,
            "incoming call encoded": 0.979,
            "messages of a call encoded": 1.6,
            "candidate relayed": 4.61,
            "update relayed": 2.79,
        ],
        .core: [
            "online call": 172,
            "wake call": 370,
            "candidate relayed": 7.17,
            "leg of a small call": 50.2,
            "leg of a middle call": 0.846,
            "leg of a large call": 1.2,
            "call among many": 0.97,
        ],
        .timers: [
            "added, few pending": 0.453,
            "cancelled, few pending": 0.571,
            "expired, few pending": 1.14,
            "added, many pending": 0.994,
            "cancelled, many pending": 1,
            "expired, many pending": 6.24,
        ],
        .store: [
            "tables, 1 a commit": 2.49,
            "journal, 1 a commit": 2.3,
            "tables, 10 a commit": 3.04,
            "journal, 10 a commit": 1.94,
            "tables, 100 a commit": 8.28,
            "journal, 100 a commit": 2.38,
            "tables, 1000 a commit": 50.2,
            "journal, 1000 a commit": 4.85,
        ],
        .mailbox: [
            "exchanged, one at a time": 5.24,
            "sent in a row, one at a time": 0.302,
            "exchanged, many at a time": 0.086,
            "sent in a row, many at a time": 0.031,
        ],
        .sockets: [
            "call, a send for each frame": 42,
            "call, frames sent together": 0.75,
            "phone that is woken": 0.45,
            "block synced": 0.65,
        ],
    ]
}
