import CallVocabulary
import GRDB
import RecordTables
import StoreInterface

/// The tables of a store and the migrations of older stores.
///
/// A released migration is never changed, nor are the constants in its text.
///
/// Identifiers are 16-byte blobs, instants are milliseconds since the epoch, states and reasons are text as on the
/// wire. Constraints check types only: a rule that the core violates must show in an audit, not as commits that fail
/// for ever.
package enum Schema {
    package static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("v1", foreignKeyChecks: .immediate) { database in
            for part in [devices, calls, pushes, parties, views] { try database.execute(sql: part) }
        }
        migrator.registerMigration("v2", foreignKeyChecks: .immediate) { database in
            for part in [callees, administration, partiesOfMembers, viewsOfCallees] {
                try database.execute(sql: part)
            }
        }
        migrator.registerMigration("v3", foreignKeyChecks: .immediate) { database in
            for part in [purposes, viewsOfPurposes] { try database.execute(sql: part) }
        }
        migrator.registerMigration("v4", foreignKeyChecks: .immediate) { try $0.execute(sql: indexes) }
        migrator.registerMigration("v5", foreignKeyChecks: .immediate) { try $0.execute(sql: journal) }
        migrator.registerMigration("v6", foreignKeyChecks: .immediate) { database in
            for part in [legsByCall, pushesByCall, partiesByCall, viewsOfLegs] { try database.execute(sql: part) }
        }
        migrator.registerMigration("v7", foreignKeyChecks: .immediate) { database in
            try JournalEntries.settleTable(database, path: "")
            for part in ["DROP TABLE journal", SettledCommits.table] { try database.execute(sql: part) }
        }
        migrator.registerMigration("v8", foreignKeyChecks: .immediate) { try $0.execute(sql: partiesAtOnce) }
        migrator.registerMigration("v9", foreignKeyChecks: .immediate) { database in
            for part in [descriptions, absences, moreOfRecords] { try database.execute(sql: part) }
        }
        migrator.registerMigration("v10", foreignKeyChecks: .immediate) { try $0.execute(sql: profiles) }
        migrator.registerMigration("v11", foreignKeyChecks: .immediate) { try $0.execute(sql: rules) }
        migrator.registerMigration("v12", foreignKeyChecks: .immediate) { database in
            for part in [revocations, events] { try database.execute(sql: part) }
        }
        migrator.registerMigration("v13", foreignKeyChecks: .immediate) { try $0.execute(sql: callsByEnd) }
        migrator.registerMigration("v14", foreignKeyChecks: .immediate) { try $0.execute(sql: lookUps) }
        return migrator
    }

    /// The name of the newest version.
    static var newest: String { migrator.migrations.last ?? "" }

    /// The version of a store; nil for a database that is no store.
    static func version(of database: Database) throws -> String? { try migrator.completedMigrations(database).last }

    /// - Throws: ``StoreFailure/Reason/newerVersion`` when the store has migrations unknown to this program.
    static func refuseNewer(_ database: Database, path: String) throws {
        guard try migrator.hasBeenSuperseded(database) else { return }
        let unknown = try migrator.appliedIdentifiers(database).subtracting(migrator.migrations).sorted()
        throw StoreFailure(
            .newerVersion, path: path,
            detail: "it was written by a later version (its schema has \(unknown.joined(separator: ", ")))")
    }

    /// Refuses every object that this program does not make, or makes otherwise, and the lack of one of its own: commits
    /// would fail, or change or lose records. Somebody's own views, and tables with their indexes, are in no commit's way.
    /// - Throws: ``StoreFailure/Reason/corrupted``.
    static func refuseForeign(_ database: Database, path: String) throws {
        guard let version = try version(of: database) else { return }
        let made = try DatabaseQueue()
        try migrator.migrate(made, upTo: version)
        let all = try made.read { try objects($0) }
        let own = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
        let found = try objects(database)
        if let object = found.first(where: { own[$0.name] != $0 && !isSomebodys($0, own) }) {
            let place = own[object.table] == nil || object.table == object.name ? "" : " on \(object.table)"
            let what = "the \(object.type.printable(upTo: 20)) \(object.name.printable(upTo: 100))\(place)"
            throw StoreFailure(
                .corrupted, path: path,
                detail: "\(what) is not as this program makes it, and may lose records or fail commits; "
                    + "drop it with sqlite3 if it is yours")
        }
        let names = Set(found.map(\.name))
        if let object = all.first(where: { $0.type != "view" && !names.contains($0.name) }) {
            throw StoreFailure(
                .corrupted, path: path,
                detail: "the \(object.type) \(object.name) is missing; make it again as a new store has it")
        }
    }

    /// Whether an object is a view, a table of somebody's own, or an index on one.
    private static func isSomebodys(_ object: Object, _ own: [String: Object]) -> Bool {
        switch object.type {
        case "view": own[object.name].map { $0.type == "view" } ?? true
        case "table": own[object.name] == nil
        case "index": own[object.name] == nil && own[object.table] == nil
        default: false
        }
    }

    private struct Object: Equatable {
        let name: String
        let type: String
        let table: String
        let text: String
    }

    /// All objects of a database, with names in small letters: SQLite does not tell them apart by case.
    private static func objects(_ database: Database) throws -> [Object] {
        let rows = try Row.fetchAll(
            database,
            sql: """
                SELECT coalesce(lower(name), ''), CAST(coalesce(type, '') AS TEXT), coalesce(lower(tbl_name), ''),
                    CAST(coalesce(sql, '') AS TEXT)
                FROM sqlite_schema
                """)
        return rows.map { Object(name: $0[0], type: $0[1], table: $0[2], text: $0[3]) }
    }

    // MARK: Version 1

    private static let devices = """
        CREATE TABLE device (
            user TEXT NOT NULL, device BLOB NOT NULL, platform TEXT NOT NULL, app TEXT, name TEXT,
            seen_at INTEGER NOT NULL, unreported_streak INTEGER NOT NULL, suspended_at INTEGER,
            PRIMARY KEY (user, device)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE push_token (
            user TEXT NOT NULL, device BLOB NOT NULL, position INTEGER NOT NULL,
            provider TEXT NOT NULL, kind TEXT NOT NULL, environment TEXT NOT NULL, topic TEXT NOT NULL,
            token TEXT NOT NULL, registered_at INTEGER NOT NULL,
            PRIMARY KEY (user, device, position)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE missed_call (
            user TEXT NOT NULL, call BLOB NOT NULL, caller TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL,
            video INTEGER NOT NULL,
            PRIMARY KEY (user, call)
        ) STRICT, WITHOUT ROWID;
        """

    /// Rows of calls, legs and pushes are stored in order of creation, so that those still being written share a few
    /// pages. Only their slim indexes have the random order of ids. Clustered by id, each update would dirty a page of
    /// its own.
    private static let calls = """
        CREATE TABLE call (
            serial INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE, caller_user TEXT NOT NULL, caller_device BLOB, caller_name TEXT,
            callee TEXT NOT NULL, video INTEGER NOT NULL, invite_digest INTEGER NOT NULL, state TEXT NOT NULL,
            created_at INTEGER NOT NULL, rings_until INTEGER NOT NULL, ringing_at INTEGER, answered_at INTEGER,
            answered_by_user TEXT, answered_by_device BLOB, connects_until INTEGER, caller_connected_at INTEGER,
            callee_connected_at INTEGER, connected_at INTEGER, ended_at INTEGER, end_reason TEXT,
            ended_by_user TEXT, ended_by_device BLOB, merged_into BLOB
        ) STRICT;
        CREATE INDEX call_by_time ON call (created_at);
        CREATE INDEX call_live ON call (created_at) WHERE state <> 'ended';

        CREATE TABLE call_offer (
            serial INTEGER PRIMARY KEY, call BLOB NOT NULL UNIQUE, sdp TEXT, custom TEXT
        ) STRICT;

        CREATE TABLE leg (
            serial INTEGER PRIMARY KEY,
            call BLOB NOT NULL, user TEXT NOT NULL, device BLOB NOT NULL, push BLOB NOT NULL, state TEXT NOT NULL,
            created_at INTEGER NOT NULL, offered_at INTEGER, woken_at INTEGER, ringing_at INTEGER,
            answered_at INTEGER, ended_at INTEGER, end_reason TEXT,
            UNIQUE (call, user, device)
        ) STRICT;
        """

    private static let pushes = """
        CREATE TABLE push (
            serial INTEGER PRIMARY KEY,
            id BLOB NOT NULL UNIQUE, call BLOB NOT NULL, user TEXT NOT NULL, device BLOB NOT NULL,
            provider TEXT NOT NULL, kind TEXT NOT NULL, environment TEXT NOT NULL, topic TEXT NOT NULL,
            token TEXT NOT NULL, status TEXT NOT NULL, report TEXT, reason TEXT, report_error TEXT,
            intended_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, sent_at INTEGER, answered_at INTEGER,
            reported_at INTEGER, report_due_at INTEGER
        ) STRICT;
        CREATE INDEX push_by_call ON push (call);
        CREATE INDEX push_by_time ON push (intended_at);
        CREATE INDEX push_open ON push (intended_at) WHERE \(PushTable.isOpen);
        """

    /// The histories that contain a call: those of the caller and of the users named when the call is first written,
    /// and those of group members from their first leg on. Up to version 7 triggers insert each row.
    private static let parties = """
        CREATE TABLE call_party (
            user TEXT NOT NULL, created_at INTEGER NOT NULL, call BLOB NOT NULL,
            PRIMARY KEY (user, created_at, call)
        ) STRICT, WITHOUT ROWID;

        CREATE TRIGGER call_has_parties AFTER INSERT ON call BEGIN
            INSERT INTO call_party (user, created_at, call)
            VALUES (NEW.caller_user, NEW.created_at, NEW.id) ON CONFLICT DO NOTHING;
            INSERT INTO call_party (user, created_at, call)
            SELECT atom, NEW.created_at, NEW.id FROM json_tree(NEW.callee)
            WHERE atom IS NOT NULL AND (key = 'user' OR path = '$.users') ON CONFLICT DO NOTHING;
        END;

        CREATE TRIGGER leg_has_party AFTER INSERT ON leg BEGIN
            INSERT INTO call_party (user, created_at, call)
            SELECT NEW.user, created_at, id FROM call WHERE id = NEW.call ON CONFLICT DO NOTHING;
        END;
        """

    private static let views = """
        CREATE VIEW devices_readable AS SELECT user, \(uuid("device")) AS device, platform, app, name,
            \(time("seen_at")) AS seen_at, unreported_streak, \(time("suspended_at")) AS suspended_at,
            (SELECT count(*) FROM push_token t WHERE t.user = device.user AND t.device = device.device) AS tokens
        FROM device;

        CREATE VIEW calls_readable AS SELECT \(uuid("id")) AS id, state, end_reason, caller_user AS caller, callee,
            video, answered_by_user AS answered_by, ended_by_user AS ended_by, \(time("created_at")) AS created_at,
            \(time("ringing_at")) AS ringing_at, \(time("answered_at")) AS answered_at,
            \(time("connected_at")) AS connected_at, \(time("ended_at")) AS ended_at,
            \(uuid("merged_into")) AS merged_into
        FROM call;

        CREATE VIEW legs_readable AS SELECT \(uuid("call")) AS call, user, \(uuid("device")) AS device, state,
            end_reason, \(uuid("push")) AS push, \(time("created_at")) AS created_at,
            \(time("offered_at")) AS offered_at, \(time("woken_at")) AS woken_at, \(time("ringing_at")) AS ringing_at,
            \(time("answered_at")) AS answered_at, \(time("ended_at")) AS ended_at
        FROM leg;

        CREATE VIEW pushes_readable AS SELECT \(uuid("id")) AS id, \(uuid("call")) AS call, user,
            \(uuid("device")) AS device, provider, kind, status, report, reason, report_error,
            \(time("intended_at")) AS intended_at, \(time("expires_at")) AS expires_at, \(time("sent_at")) AS sent_at,
            \(time("answered_at")) AS answered_at, \(time("reported_at")) AS reported_at,
            \(time("report_due_at")) AS report_due_at
        FROM push;
        """

    // MARK: Version 2

    /// Candidates have no key: their batches are stored in order of arrival, each as a JSON array.
    private static let callees = """
        ALTER TABLE call ADD COLUMN members TEXT;
        ALTER TABLE call ADD COLUMN hunt_rung INTEGER;
        ALTER TABLE call ADD COLUMN hunt_next_at INTEGER;

        CREATE TABLE call_candidates (
            serial INTEGER PRIMARY KEY,
            call BLOB NOT NULL, user TEXT, device BLOB, candidates TEXT NOT NULL, is_final INTEGER NOT NULL
        ) STRICT;
        CREATE INDEX call_candidates_by_call ON call_candidates (call);
        """

    private static let administration = """
        CREATE TABLE call_group (
            name TEXT NOT NULL UNIQUE, strategy TEXT NOT NULL, members TEXT NOT NULL
        ) STRICT;

        CREATE TABLE user_policy (
            handle TEXT PRIMARY KEY, call_waiting INTEGER NOT NULL, decline TEXT NOT NULL,
            do_not_disturb INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE alias (handle TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// A call with `members` has exactly those callees, with or without a leg. The handles in `callee` are then no
    /// parties: an alias may belong to another user by the time the history is read.
    private static let partiesOfMembers = """
        DROP TRIGGER call_has_parties;

        CREATE TRIGGER call_has_parties AFTER INSERT ON call BEGIN
            INSERT INTO call_party (user, created_at, call)
            VALUES (NEW.caller_user, NEW.created_at, NEW.id) ON CONFLICT DO NOTHING;
            INSERT INTO call_party (user, created_at, call)
            SELECT atom, NEW.created_at, NEW.id FROM json_tree(NEW.callee)
            WHERE NEW.members IS NULL AND atom IS NOT NULL AND (key = 'user' OR path = '$.users')
            ON CONFLICT DO NOTHING;
            INSERT INTO call_party (user, created_at, call)
            SELECT value, NEW.created_at, NEW.id FROM json_each(NEW.members) WHERE true ON CONFLICT DO NOTHING;
        END;

        CREATE TRIGGER call_has_new_members AFTER UPDATE OF members ON call WHEN NEW.members IS NOT OLD.members BEGIN
            INSERT INTO call_party (user, created_at, call)
            SELECT value, NEW.created_at, NEW.id FROM json_each(NEW.members) WHERE true ON CONFLICT DO NOTHING;
        END;
        """

    private static let viewsOfCallees = """
        DROP VIEW calls_readable;

        CREATE VIEW calls_readable AS SELECT \(uuid("id")) AS id, state, end_reason, caller_user AS caller, callee,
            members, video, answered_by_user AS answered_by, ended_by_user AS ended_by,
            \(time("created_at")) AS created_at, \(time("ringing_at")) AS ringing_at,
            \(time("answered_at")) AS answered_at, \(time("connected_at")) AS connected_at,
            \(time("ended_at")) AS ended_at, \(uuid("merged_into")) AS merged_into, hunt_rung,
            \(time("hunt_next_at")) AS hunt_next_at
        FROM call;
        """

    // MARK: Version 3

    /// Before this version every push was for a call. The index serves the start of a server, which counts recent
    /// background pushes.
    private static let purposes = """
        ALTER TABLE push ADD COLUMN purpose TEXT NOT NULL DEFAULT 'call';
        CREATE INDEX push_sync ON push (intended_at) WHERE purpose = 'sync';

        ALTER TABLE user_policy ADD COLUMN missed_calls TEXT NOT NULL DEFAULT 'off';
        """

    private static let viewsOfPurposes = """
        DROP VIEW pushes_readable;

        CREATE VIEW pushes_readable AS SELECT \(uuid("id")) AS id, purpose, \(uuid("call")) AS call, user,
            \(uuid("device")) AS device, provider, kind, status, report, reason, report_error,
            \(time("intended_at")) AS intended_at, \(time("expires_at")) AS expires_at, \(time("sent_at")) AS sent_at,
            \(time("answered_at")) AS answered_at, \(time("reported_at")) AS reported_at,
            \(time("report_due_at")) AS report_due_at
        FROM push;
        """

    // MARK: Version 4

    /// The first index is for retention, which finds a user's missed calls by time; the second for the short list of
    /// suspended devices.
    private static let indexes = """
        CREATE INDEX missed_call_by_time ON missed_call (user, at);
        CREATE INDEX device_suspended ON device (user, device) WHERE suspended_at IS NOT NULL;
        """

    // MARK: Version 5

    /// Durable operations that are not applied to the other tables yet. Later migrations find it as the last server
    /// left it.
    private static let journal = """
        CREATE TABLE journal (
            entry INTEGER PRIMARY KEY, format INTEGER NOT NULL, operations BLOB NOT NULL
        ) STRICT;
        """

    // MARK: Version 6

    // Dependent rows refer to their call by its serial. Serials of calls of one time are adjacent, so indexes on them
    // grow at their end; an index on random ids dirties a page for nearly each row. A row without its call, which an
    // audit reports, has a serial that no call has: 0, or a negative one for a leg from before this version.

    /// The legacy way of renaming leaves users' own views unchanged.
    private static let legsByCall = """
        PRAGMA legacy_alter_table = ON;
        DROP TRIGGER leg_has_party;
        DROP VIEW legs_readable;
        ALTER TABLE leg RENAME TO leg_by_id;

        CREATE TABLE leg (
            serial INTEGER PRIMARY KEY,
            call BLOB NOT NULL, call_serial INTEGER NOT NULL, user TEXT NOT NULL, device BLOB NOT NULL,
            push BLOB NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL, offered_at INTEGER, woken_at INTEGER,
            ringing_at INTEGER, answered_at INTEGER, ended_at INTEGER, end_reason TEXT,
            UNIQUE (call_serial, user, device)
        ) STRICT;

        INSERT INTO leg SELECT leg.serial, leg.call, coalesce(call.serial, -leg.serial), leg.user, leg.device, leg.push, leg.state,
            leg.created_at, leg.offered_at, leg.woken_at, leg.ringing_at, leg.answered_at, leg.ended_at, leg.end_reason
        FROM leg_by_id leg LEFT JOIN call ON call.id = leg.call ORDER BY leg.serial;

        DROP TABLE leg_by_id;
        """

    private static let pushesByCall = """
        ALTER TABLE push ADD COLUMN call_serial INTEGER NOT NULL DEFAULT 0;
        UPDATE push SET call_serial = coalesce((SELECT serial FROM call WHERE call.id = push.call), 0);
        DROP INDEX push_by_call;
        CREATE INDEX push_by_call ON push (call_serial);
        """

    /// Calls of the same millisecond are now in order of creation; otherwise a user's history is unchanged.
    ///
    /// Most calls are to one user, for whom the trigger avoids the JSON functions.
    private static let partiesByCall = """
        DROP TRIGGER call_has_parties;
        DROP TRIGGER call_has_new_members;
        ALTER TABLE call_party RENAME TO call_party_by_id;

        CREATE TABLE call_party (
            user TEXT NOT NULL, created_at INTEGER NOT NULL, call_serial INTEGER NOT NULL,
            PRIMARY KEY (user, created_at, call_serial)
        ) STRICT, WITHOUT ROWID;

        INSERT INTO call_party SELECT party.user, party.created_at, call.serial
        FROM call_party_by_id party JOIN call ON call.id = party.call
        ORDER BY party.user, party.created_at, call.serial;

        DROP TABLE call_party_by_id;

        CREATE TRIGGER call_has_parties AFTER INSERT ON call BEGIN
            INSERT INTO call_party (user, created_at, call_serial)
            VALUES (NEW.caller_user, NEW.created_at, NEW.serial) ON CONFLICT DO NOTHING;
            INSERT INTO call_party (user, created_at, call_serial)
            SELECT NEW.callee ->> '$.user', NEW.created_at, NEW.serial
            WHERE NEW.members IS NULL AND NEW.callee ->> '$.user' IS NOT NULL ON CONFLICT DO NOTHING;
            INSERT INTO call_party (user, created_at, call_serial)
            SELECT value, NEW.created_at, NEW.serial FROM json_each(coalesce(NEW.members, NEW.callee -> '$.users'))
            WHERE true ON CONFLICT DO NOTHING;
        END;

        CREATE TRIGGER call_has_new_members AFTER UPDATE OF members ON call WHEN NEW.members IS NOT OLD.members BEGIN
            INSERT INTO call_party (user, created_at, call_serial)
            SELECT value, NEW.created_at, NEW.serial FROM json_each(NEW.members) WHERE true ON CONFLICT DO NOTHING;
        END;

        CREATE TRIGGER leg_has_party AFTER INSERT ON leg BEGIN
            INSERT INTO call_party (user, created_at, call_serial)
            SELECT NEW.user, created_at, serial FROM call WHERE serial = NEW.call_serial ON CONFLICT DO NOTHING;
        END;
        """

    private static let viewsOfLegs = """
        CREATE VIEW legs_readable AS SELECT \(uuid("call")) AS call, user, \(uuid("device")) AS device, state,
            end_reason, \(uuid("push")) AS push, \(time("created_at")) AS created_at,
            \(time("offered_at")) AS offered_at, \(time("woken_at")) AS woken_at, \(time("ringing_at")) AS ringing_at,
            \(time("answered_at")) AS answered_at, \(time("ended_at")) AS ended_at
        FROM leg;
        PRAGMA legacy_alter_table = OFF;
        """

    // MARK: Version 8

    /// From this version on ``HistoryWriter`` inserts new calls and legs into histories, once per transaction.
    private static let partiesAtOnce = """
        DROP TRIGGER call_has_parties;
        DROP TRIGGER leg_has_party;
        """

    // MARK: Version 9

    /// Before this version one column held the offer, and after the answer the answer instead.
    private static let descriptions = """
        CREATE TABLE call_descriptions (
            serial INTEGER PRIMARY KEY, call BLOB NOT NULL UNIQUE, offer TEXT, custom TEXT, answer TEXT
        ) STRICT;

        INSERT INTO call_descriptions (serial, call, offer, custom, answer)
        SELECT old.serial, old.call, iif(call.state IS 'answered', NULL, old.sdp), old.custom,
            iif(call.state IS 'answered', old.sdp, NULL)
        FROM call_offer old LEFT JOIN call ON call.id = old.call ORDER BY old.serial;

        DROP TABLE call_offer;
        """

    private static let absences = """
        CREATE TABLE call_absence (
            serial INTEGER PRIMARY KEY, call BLOB NOT NULL, call_serial INTEGER NOT NULL, role TEXT NOT NULL,
            lost_at INTEGER NOT NULL, returned_at INTEGER,
            UNIQUE (call_serial, role, lost_at)
        ) STRICT;

        CREATE VIEW absences_readable AS SELECT \(uuid("call")) AS call, role, \(time("lost_at")) AS lost_at,
            \(time("returned_at")) AS returned_at
        FROM call_absence;
        """

    /// A column of `settled` tells whether a server has the store open: see ``SettledCommits``.
    private static let moreOfRecords = """
        ALTER TABLE call ADD COLUMN lost_at INTEGER;
        ALTER TABLE missed_call ADD COLUMN from_name TEXT;
        ALTER TABLE device ADD COLUMN probes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE device ADD COLUMN next_probe_at INTEGER;
        ALTER TABLE settled ADD COLUMN open_boot BLOB;
        """

    // MARK: Version 10

    /// The payload profile of a token; empty for none.
    private static let profiles = """
        ALTER TABLE push_token ADD COLUMN profile TEXT NOT NULL DEFAULT '';
        ALTER TABLE push ADD COLUMN profile TEXT NOT NULL DEFAULT '';
        """

    // MARK: Version 11

    /// Users' block lists and forwarding, and what calls need for them. Times are in milliseconds.
    private static let rules = """
        CREATE TABLE call_rules (
            handle TEXT PRIMARY KEY, blocked TEXT NOT NULL, forward_busy TEXT, forward_no_answer TEXT,
            no_answer_after INTEGER
        ) STRICT, WITHOUT ROWID;
        ALTER TABLE call_group ADD COLUMN delays TEXT;
        ALTER TABLE call ADD COLUMN hunt_steps TEXT;
        ALTER TABLE call ADD COLUMN forwards TEXT;
        ALTER TABLE call ADD COLUMN ring_time INTEGER;
        ALTER TABLE call ADD COLUMN max_duration INTEGER;
        """

    // MARK: Version 12

    /// The times from before which users' tokens are refused.
    private static let revocations = """
        CREATE TABLE token_revocation (handle TEXT PRIMARY KEY, issued_before INTEGER NOT NULL) STRICT, WITHOUT ROWID;
        """

    /// Events for other systems. `AUTOINCREMENT`: the positions of deleted events are not used again.
    private static let events = """
        CREATE TABLE event (
            position INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
            call BLOB, user TEXT, device BLOB, body TEXT NOT NULL
        ) STRICT;
        ALTER TABLE call ADD COLUMN event_count INTEGER NOT NULL DEFAULT 0;
        """

    // MARK: Version 13

    /// For exports, which read calls in the order in which they ended. Live calls are not indexed.
    private static let callsByEnd = "CREATE INDEX call_by_end ON call (ended_at) WHERE ended_at IS NOT NULL"

    // MARK: Version 14

    /// The part of a push token that is indexed. Its beginning is the same for many: Web Push tokens are URLs.
    static let tokenEnd = "substr(token, -24)"

    /// For lookups of users by name, by a token of their devices, by an alias, and by the groups that list them.
    private static let lookUps = """
        CREATE INDEX push_token_by_end ON push_token (\(tokenEnd));
        CREATE INDEX alias_by_user ON alias (user);
        DROP INDEX push_sync;
        CREATE INDEX push_sync_by_user ON push (user, intended_at) WHERE purpose = 'sync';

        CREATE TABLE group_member (
            member TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (member, name)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO group_member SELECT value, name FROM call_group, \(members("call_group"))
        WHERE type = 'text' ON CONFLICT DO NOTHING;

        CREATE TRIGGER group_has_members AFTER INSERT ON call_group BEGIN
            INSERT INTO group_member SELECT value, NEW.name FROM \(members("NEW"))
            WHERE type = 'text' ON CONFLICT DO NOTHING;
        END;

        CREATE TRIGGER group_has_other_members AFTER UPDATE ON call_group BEGIN
            DELETE FROM group_member WHERE (member, name) IN (SELECT value, OLD.name FROM \(members("OLD")));
            INSERT INTO group_member SELECT value, NEW.name FROM \(members("NEW"))
            WHERE type = 'text' ON CONFLICT DO NOTHING;
        END;

        CREATE TRIGGER group_is_deleted AFTER DELETE ON call_group BEGIN
            DELETE FROM group_member WHERE (member, name) IN (SELECT value, OLD.name FROM \(members("OLD")));
        END;
        """

    /// The members of a group, as rows. A damaged list has none, because a trigger that fails would stop all commits.
    private static func members(_ row: String) -> String {
        "json_each(iif(json_valid(\(row).members), \(row).members, '[]'))"
    }

    // MARK: Formats of views

    private static func uuid(_ column: String) -> String {
        let hex = "lower(hex(\(column)))"
        let parts = [(1, 8), (9, 4), (13, 4), (17, 4), (21, 12)].map { "substr(\(hex), \($0.0), \($0.1))" }
        return "iif(\(column) IS NULL, NULL, \(parts.joined(separator: " || '-' || ")))"
    }

    private static func time(_ column: String) -> String {
        "strftime('%Y-%m-%dT%H:%M:%fZ', \(column) / 1000.0, 'unixepoch')"
    }
}
