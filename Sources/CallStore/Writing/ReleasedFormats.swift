/// The journal formats of earlier releases, verbatim: they must not depend on anything that a later version may change.
enum ReleasedFormats {
    static let v5 = make(standWithCall: false, histories: nil)
    /// Legs and pushes have the serial of their call.
    static let v6 = make(standWithCall: true, histories: nil)
    /// No trigger inserts new calls into histories.
    static let v8 = make(standWithCall: true, histories: histories)

    /// A call's descriptions have a record, and parties have absences.
    static let v9: JournalFormat = {
        var statements = v8.statements
        statements[1] = .init(sql: upsert("device", key: ["user", "device"], device + ["probes", "next_probe_at"]))
        statements[5] = .init(sql: upsert("call", key: ["id"], fixed: ["created_at"], call + ["lost_at"]))
        statements[8] = .init(sql: upsert("call_descriptions", key: ["call"], ["offer", "custom", "answer"]))
        statements[9] = .init(sql: "DELETE FROM call_descriptions WHERE call = ?")
        statements[10] = .init(
            sql: upsert("missed_call", key: ["user", "call"], ["caller", "from_name", "at", "reason", "video"]))
        statements[19] = .init(
            sql: upsert(
                "call_absence", key: ["call", "role", "lost_at"], conflict: ["call_serial", "role", "lost_at"],
                serial: "coalesce((SELECT serial FROM call WHERE id = ?1), 0)", ["returned_at"]),
            call: (1, 3))
        return JournalFormat(number: 2, statements: statements, upsertCall: 5, histories: histories)
    }()

    /// Tokens and pushes have a payload profile.
    static let v10: JournalFormat = {
        var statements = v9.statements
        let token = Self.token + ["profile"]
        statements[3] = .init(sql: upsertToken(token + ["registered_at"]))
        statements[7] = .init(sql: push(token, standsWithCall: true), call: (3, 16))
        return JournalFormat(number: 3, statements: statements, upsertCall: 5, histories: histories)
    }()

    /// Users have block lists and forwarding; groups and calls what goes with them.
    static let v11: JournalFormat = {
        var statements = v10.statements
        statements[5] = .init(
            sql: upsert(
                "call", key: ["id"], fixed: ["created_at"],
                call + ["lost_at", "hunt_steps", "forwards", "ring_time", "max_duration"]))
        statements[14] = .init(sql: upsert("call_group", key: ["name"], ["strategy", "members", "delays"]))
        statements[20] = .init(
            sql: upsert(
                "call_rules", key: ["handle"], ["blocked", "forward_busy", "forward_no_answer", "no_answer_after"]))
        return JournalFormat(number: 4, statements: statements, upsertCall: 5, histories: histories)
    }()

    private static let device = ["platform", "app", "name", "seen_at", "unreported_streak", "suspended_at"]
    private static let token = ["provider", "kind", "environment", "topic", "token"]

    private static func make(standWithCall: Bool, histories: String?) -> JournalFormat {
        let statements: [(number: UInt8, JournalFormat.Statement)] = [
            (1, .init(sql: upsert("device", key: ["user", "device"], device))),
            (2, .init(sql: "DELETE FROM device WHERE user = ? AND device = ?")),
            (3, .init(sql: upsertToken(token + ["registered_at"]))),
            (4, .init(sql: "DELETE FROM push_token WHERE user = ? AND device = ? AND position >= ?")),
            (5, .init(sql: upsert("call", key: ["id"], fixed: ["created_at"], call))),
            (6, .init(sql: standWithCall ? legWithCall : leg, call: (1, 6))),
            (7, .init(sql: push(token, standsWithCall: standWithCall), call: (3, 15))),
            (8, .init(sql: upsert("call_offer", key: ["call"], ["sdp", "custom"]))),
            (9, .init(sql: "DELETE FROM call_offer WHERE call = ?")),
            (10, .init(sql: upsert("missed_call", key: ["user", "call"], ["caller", "at", "reason", "video"]))),
            (11, .init(sql: "DELETE FROM missed_call WHERE user = ? AND at <= ?")),
            (12, .init(sql: candidates)),
            (13, .init(sql: "DELETE FROM call_candidates WHERE call = ?")),
            (14, .init(sql: upsert("call_group", key: ["name"], ["strategy", "members"]))),
            (15, .init(sql: "DELETE FROM call_group WHERE name = ?")),
            (16, .init(sql: upsert("user_policy", key: ["handle"], policy))),
            (17, .init(sql: upsert("alias", key: ["handle"], ["user"]))),
            (18, .init(sql: "DELETE FROM alias WHERE handle = ?")),
        ]
        return JournalFormat(
            number: 1, statements: Dictionary(uniqueKeysWithValues: statements.map { ($0.number, $0.1) }),
            upsertCall: 5, histories: histories)
    }

    /// An upsert that binds the key and then the other columns.
    /// - Parameters:
    ///   - fixed: columns that are not changed in an existing row.
    ///   - serial: of the call, looked up by a parameter that is already bound.
    ///   - conflict: the columns that identify a row, if other than `key`.
    private static func upsert(
        _ table: String, key: [String], conflict: [String]? = nil, fixed: Set<String> = [], serial: String? = nil,
        _ others: [String]
    ) -> String {
        let columns = key + others
        let names = columns + (serial == nil ? [] : ["call_serial"])
        let values = columns.map { _ in "?" } + (serial.map { [$0] } ?? [])
        let changing = others.filter { !fixed.contains($0) }.map { "\($0) = excluded.\($0)" }
        return """
            INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(values.joined(separator: ", "))) \
            ON CONFLICT (\((conflict ?? key).joined(separator: ", "))) DO UPDATE SET \(changing.joined(separator: ", "))
            """
    }

    private static func upsertToken(_ columns: [String]) -> String {
        let old = columns.map { "push_token.\($0)" }.joined(separator: ", ")
        let new = columns.map { "excluded.\($0)" }.joined(separator: ", ")
        return upsert("push_token", key: ["user", "device", "position"], columns) + " WHERE (\(old)) <> (\(new))"
    }

    private static let call = [
        "caller_user", "caller_device", "caller_name", "callee", "video", "invite_digest", "state", "created_at",
        "rings_until", "ringing_at", "answered_at", "answered_by_user", "answered_by_device", "connects_until",
        "caller_connected_at", "callee_connected_at", "connected_at", "ended_at", "end_reason", "ended_by_user",
        "ended_by_device", "merged_into", "members", "hunt_rung", "hunt_next_at",
    ]

    private static let policy = ["call_waiting", "decline", "do_not_disturb", "missed_calls"]

    private static let candidates =
        "INSERT INTO call_candidates (call, user, device, candidates, is_final) VALUES (?, ?, ?, ?, ?)"

    private static let legOthers = [
        "push", "state", "created_at", "offered_at", "woken_at", "ringing_at", "answered_at", "ended_at", "end_reason",
    ]
    private static let leg = upsert("leg", key: ["call", "user", "device"], legOthers)
    private static let legWithCall = upsert(
        "leg", key: ["call", "user", "device"], conflict: ["call_serial", "user", "device"],
        serial: "coalesce((SELECT serial FROM call WHERE id = ?1), 0)", legOthers)

    private static func push(_ token: [String], standsWithCall: Bool) -> String {
        let others =
            ["purpose", "call", "user", "device"] + token + [
                "status", "report", "reason", "report_error", "intended_at", "expires_at", "sent_at", "answered_at",
                "reported_at", "report_due_at",
            ]
        return upsert(
            "push", key: ["id"], fixed: ["call", "intended_at", "purpose"],
            serial: standsWithCall ? "coalesce((SELECT serial FROM call WHERE id = ?3), 0)" : nil, others)
    }

    private static let histories = """
        INSERT INTO call_party (user, created_at, call_serial)
        SELECT user, created_at, call_serial FROM (
            SELECT caller_user AS user, created_at, serial AS call_serial FROM call WHERE serial > ?1
            UNION ALL
            SELECT coalesce(callee ->> '$.user', ''), created_at, serial FROM call WHERE serial > ?1 AND members IS NULL
            UNION ALL
            SELECT value, created_at, serial FROM call, json_each(coalesce(members, callee -> '$.users'))
                WHERE serial > ?1 AND (members IS NOT NULL OR callee ->> '$.user' IS NULL)
            UNION ALL
            SELECT leg.user, call.created_at, call.serial FROM leg JOIN call ON call.serial = call_serial
                WHERE leg.serial > ?2
        ) WHERE user <> '' ORDER BY user, created_at, call_serial ON CONFLICT DO NOTHING
        """
}
