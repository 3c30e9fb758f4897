/// What each figure's ratio to its reference was when it was last recorded: medians of release builds. Another machine has
/// others, so what counts is how they change on one.
enum RecordedRatios {
    enum Part: String {
        case codec, core, calls, timers, store, mailbox
    }

    static let machine = """
        two shared cores of a virtual machine (x86-64, Intel Xeon; for calls whose steps are durable, AMD EPYC), its disk \
        virtual, release build
        """

    /// Of the push client to h2load: pushes a second, and CPU time of one.
    static let push = PushComparison.Recorded(rate: 0.87, cpu: 1.82)

    static func ratio(of figure: String, in part: Part) -> Double? { all[part]?[figure] }

    /// By the names of the figures.
    static let all: [Part: [String: Double]] = [
        .codec: [
            "scan of an invite": 0.348,
            "invite decoded": 1.3,
            "frames of a call decoded": 2.21,
            "incoming call encoded": 0.678,
            "messages of a call encoded": 0.959,
            "candidate relayed": 3.8,
            "update relayed": 1.97,
        ],
        .core: [
            "online call": 131,
            "wake call": 398,
            "candidate relayed": 5.26,
            "leg of a small call": 52.3,
            "leg of a middle call": 0.723,
            "leg of a large call": 0.798,
            "call among many": 1,
        ],
        .calls: [
            "requests read": 34.4,
            "decided": 170,
            "made durable": 292,
            "frames written": 49.2,
            "live picture": 57.3,
            "all of these": 608,
        ],
        .timers: [
            "added, few pending": 0.367,
            "cancelled, few pending": 0.459,
            "expired, few pending": 1.07,
            "added, many pending": 1.02,
            "cancelled, many pending": 0.988,
            "expired, many pending": 4.57,
        ],
        .store: [
            "tables, 1 a commit": 2.93,
            "journal, 1 a commit": 1.82,
            "tables, 10 a commit": 5.57,
            "journal, 10 a commit": 2.01,
            "tables, 100 a commit": 19.3,
            "journal, 100 a commit": 4.68,
            "tables, 1000 a commit": 75.9,
            "journal, 1000 a commit": 22.3,
        ],
        .mailbox: [
            "exchanged, one at a time": 1.36,
            "sent in a row, one at a time": 1.91,
            "exchanged, many at a time": 0.0216,
            "sent in a row, many at a time": 0.064,
        ],
    ]
}
