import RecordTables
import StoreInterface

/// The tables of a realm, in a schema of its own, and their migrations.
///
/// A released migration is never changed, nor are the constants in its text. They are numbered apart from those of the
/// SQLite store.
enum PostgresSchema {
    static let newest = 4
    /// The first version with the table of nodes.
    static let firstWithNodes = 2
    static let firstWithProblems = 3
    /// The first version with ids of terms.
    static let firstWithTerms = 4
    private static let migrations = [version1, version2, version3, version4]

    /// The version of the realm's tables; nil without them.
    static func version(_ connection: PostgresConnection) throws(StoreFailure) -> Int? {
        var name = PostgresParameters()
        name.bind(connection.address.realm)
        let table = try connection.run(
            "SELECT 1 FROM pg_tables WHERE schemaname = ? AND tablename = 'schema_version'", name)
        guard table.rowCount > 0 else { return nil }
        return try connection.run("SELECT max(version) FROM schema_version").int(0, 0).map { Int($0) }
    }

    /// Makes or migrates the tables, in one transaction.
    /// - Throws: ``StoreFailure/Reason/newerVersion``.
    static func migrate(_ connection: PostgresConnection) throws(StoreFailure) {
        if try knownVersion(connection) == newest { return }
        try connection.runSimple("BEGIN")
        do {
            try migrateInTransaction(connection)
            try connection.runSimple("COMMIT")
        } catch {
            connection.rollBack()
            throw error
        }
    }

    /// As ``migrate(_:)``, in a transaction that the caller has begun and ends.
    static func migrateInTransaction(_ connection: PostgresConnection) throws(StoreFailure) {
        let realm = connection.address.realm
        // Two processes that start at once: the second finds the tables.
        var lock = PostgresParameters()
        lock.bind("reveille \(realm)")
        try connection.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 0))", lock)
        let known = try knownVersion(connection) ?? 0
        var name = PostgresParameters()
        name.bind(realm)
        let hasSchema = try connection.run("SELECT 1 FROM pg_namespace WHERE nspname = ?", name).rowCount > 0
        // Only then: it needs the right to create schemas in the database.
        if !hasSchema { try connection.runSimple("CREATE SCHEMA \"\(realm)\"") }
        for (index, migration) in migrations.enumerated() where index >= known {
            try connection.runSimple(StatementText(migration).sql)
            try connection.runSimple("INSERT INTO schema_version (version) VALUES (\(index + 1))")
        }
    }

    /// - Returns: nil while there are no tables.
    /// - Throws: ``StoreFailure/Reason/newerVersion``.
    static func knownVersion(_ connection: PostgresConnection) throws(StoreFailure) -> Int? {
        let version = try version(connection)
        guard let version, version > newest else { return version }
        throw StoreFailure(
            .newerVersion, path: connection.path,
            detail: "it was written by a later version (its schema has version \(version))")
    }

    /// The order of texts is that of their bytes, as in SQLite. Truth values are 0 and 1, times are milliseconds.
    private static let version1 = """
        CREATE TABLE schema_version (version integer PRIMARY KEY, since timestamptz NOT NULL DEFAULT now());
        \(home)
        \(users)
        \(calls)
        \(dependents)
        \(administration)
        \(views)
        """

    /// The processes that are home or stand by, and what they share beside the records.
    private static let version2 = """
        CREATE TABLE node (
            id uuid PRIMARY KEY, name text NOT NULL, address text NOT NULL, version text NOT NULL,
            role text NOT NULL, started_at timestamptz NOT NULL DEFAULT now(), seen_at timestamptz NOT NULL DEFAULT now()
        ) WITH (fillfactor = 50);
        CREATE TABLE kept (name text PRIMARY KEY, content bytea NOT NULL);
        """

    /// What is wrong with a node, as it says itself.
    private static let version3 = "ALTER TABLE node ADD COLUMN problem text"

    /// The id of a term: see ``TermKey``. Nobody has a term without one.
    private static let version4 = """
        ALTER TABLE home ADD COLUMN term uuid;
        ALTER TABLE lease ADD COLUMN term uuid;
        ALTER TABLE journal ADD COLUMN term uuid;
        """

    /// `home` is written by a take-over only, so that commits that lock it leave no dead rows behind; a snapshot that
    /// is open for long, such as a dump, would keep them. For the same reason there is no row with the last commit or
    /// the last settled one: the last row of the journal is the last commit, and the row without operations is the last
    /// one that the tables have.
    private static let home = """
        CREATE TABLE home (
            one boolean PRIMARY KEY DEFAULT true CHECK (one), store uuid NOT NULL DEFAULT gen_random_uuid(),
            epoch bigint NOT NULL
        );
        INSERT INTO home (epoch) VALUES (0);
        CREATE TABLE lease (
            one boolean PRIMARY KEY DEFAULT true CHECK (one), epoch bigint NOT NULL, owner uuid, address text,
            until timestamptz NOT NULL, handover_to uuid
        ) WITH (fillfactor = 10);
        INSERT INTO lease (epoch, until) VALUES (0, '-infinity');
        CREATE TABLE journal (
            commit_no bigint PRIMARY KEY, epoch bigint NOT NULL, format smallint NOT NULL, operations bytea
        ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 20000);
        ALTER TABLE journal ALTER COLUMN operations SET STORAGE EXTERNAL;
        INSERT INTO journal (commit_no, epoch, format) VALUES (0, 0, 0);
        """

    private static let users = """
        CREATE TABLE device (
            user text COLLATE "C" NOT NULL, device uuid NOT NULL, platform text NOT NULL, app text, name text,
            seen_at bigint NOT NULL, unreported_streak bigint NOT NULL, suspended_at bigint, probes bigint NOT NULL,
            next_probe_at bigint, PRIMARY KEY (user, device)
        ) WITH (fillfactor = 80);
        CREATE INDEX device_suspended ON device (user, device) WHERE suspended_at IS NOT NULL;
        CREATE TABLE push_token (
            user text COLLATE "C" NOT NULL, device uuid NOT NULL, position bigint NOT NULL, provider text NOT NULL,
            kind text NOT NULL, environment text NOT NULL, topic text NOT NULL, token text NOT NULL,
            profile text NOT NULL, registered_at bigint NOT NULL, PRIMARY KEY (user, device, position)
        );
        CREATE INDEX push_token_by_end ON push_token (\(LookUpStatements.tokenEnd(.postgreSQL)));
        CREATE TABLE missed_call (
            user text COLLATE "C" NOT NULL, call uuid NOT NULL, caller text NOT NULL, from_name text,
            at bigint NOT NULL, reason text NOT NULL, video bigint NOT NULL, PRIMARY KEY (user, call)
        );
        CREATE INDEX missed_call_by_time ON missed_call (user, at);
        """

    private static let calls = """
        CREATE TABLE call (
            serial bigint PRIMARY KEY, id uuid NOT NULL UNIQUE, caller_user text COLLATE "C" NOT NULL,
            caller_device uuid, caller_name text, callee text NOT NULL, video bigint NOT NULL,
            invite_digest bigint NOT NULL, state text NOT NULL, created_at bigint NOT NULL, rings_until bigint NOT NULL,
            ringing_at bigint, answered_at bigint, answered_by_user text, answered_by_device uuid,
            connects_until bigint, caller_connected_at bigint, callee_connected_at bigint, connected_at bigint,
            ended_at bigint, end_reason text, ended_by_user text, ended_by_device uuid, merged_into uuid, members text,
            hunt_rung bigint, hunt_next_at bigint, lost_at bigint, hunt_steps text, forwards text, ring_time bigint,
            max_duration bigint, event_count bigint NOT NULL
        ) WITH (fillfactor = 80);
        CREATE INDEX call_by_time ON call (created_at, serial);
        CREATE INDEX call_live ON call (created_at, serial) WHERE state <> 'ended';
        CREATE INDEX call_by_end ON call (ended_at, serial) WHERE ended_at IS NOT NULL;
        CREATE TABLE call_party (
            user text COLLATE "C" NOT NULL, created_at bigint NOT NULL, call_serial bigint NOT NULL,
            PRIMARY KEY (user, created_at, call_serial)
        );
        CREATE FUNCTION call_has_new_members() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
        BEGIN
            INSERT INTO call_party (user, created_at, call_serial)
            SELECT value, NEW.created_at, NEW.serial FROM json_array_elements_text(NEW.members::json) named(value)
            ON CONFLICT DO NOTHING;
            RETURN NULL;
        END $$;
        CREATE TRIGGER call_has_new_members AFTER UPDATE OF members ON call FOR EACH ROW
            WHEN (NEW.members IS DISTINCT FROM OLD.members) EXECUTE FUNCTION call_has_new_members();
        """

    private static let dependents = """
        CREATE TABLE leg (
            serial bigint PRIMARY KEY, call uuid NOT NULL, call_serial bigint NOT NULL, user text COLLATE "C" NOT NULL,
            device uuid NOT NULL, push uuid NOT NULL, state text NOT NULL, created_at bigint NOT NULL,
            offered_at bigint, woken_at bigint, ringing_at bigint, answered_at bigint, ended_at bigint,
            end_reason text, UNIQUE (call_serial, user, device)
        ) WITH (fillfactor = 80);
        CREATE TABLE push (
            serial bigint PRIMARY KEY, id uuid NOT NULL UNIQUE, call uuid NOT NULL, call_serial bigint NOT NULL,
            user text COLLATE "C" NOT NULL, device uuid NOT NULL, provider text NOT NULL, kind text NOT NULL,
            environment text NOT NULL, topic text NOT NULL, token text NOT NULL, profile text NOT NULL,
            purpose text NOT NULL, status text NOT NULL, report text, reason text, report_error text,
            intended_at bigint NOT NULL, expires_at bigint NOT NULL, sent_at bigint, answered_at bigint,
            reported_at bigint, report_due_at bigint
        ) WITH (fillfactor = 80);
        CREATE INDEX push_by_call ON push (call_serial);
        CREATE INDEX push_by_time ON push (intended_at, serial);
        CREATE INDEX push_open ON push (intended_at, serial)
            WHERE (status IN ('intended', 'sent') OR report = 'awaited');
        CREATE INDEX push_sync_by_user ON push (user, intended_at) WHERE purpose = 'sync';
        CREATE TABLE call_descriptions (call uuid PRIMARY KEY, offer text, custom text, answer text);
        CREATE TABLE call_absence (
            serial bigint PRIMARY KEY, call uuid NOT NULL, call_serial bigint NOT NULL, role text NOT NULL,
            lost_at bigint NOT NULL, returned_at bigint, UNIQUE (call_serial, role, lost_at)
        );
        CREATE TABLE call_candidates (
            serial bigint PRIMARY KEY, call uuid NOT NULL, user text, device uuid, candidates text NOT NULL,
            is_final bigint NOT NULL
        );
        CREATE INDEX call_candidates_by_call ON call_candidates (call);
        CREATE TABLE event (
            position bigint PRIMARY KEY, id uuid NOT NULL, kind text NOT NULL, at bigint NOT NULL, call uuid, user text,
            device uuid, body text NOT NULL
        );
        CREATE TABLE event_position (deleted bigint NOT NULL);
        INSERT INTO event_position (deleted) VALUES (0);
        """

    private static let administration = """
        CREATE TABLE call_group (
            name text COLLATE "C" PRIMARY KEY, strategy text NOT NULL, members text NOT NULL, delays text
        );
        CREATE TABLE user_policy (
            handle text COLLATE "C" PRIMARY KEY, call_waiting bigint NOT NULL, decline text NOT NULL,
            do_not_disturb bigint NOT NULL, missed_calls text NOT NULL
        );
        CREATE TABLE alias (handle text COLLATE "C" PRIMARY KEY, user text COLLATE "C" NOT NULL);
        CREATE INDEX alias_by_user ON alias (user);
        CREATE TABLE group_member (
            member text COLLATE "C" NOT NULL, name text COLLATE "C" NOT NULL, PRIMARY KEY (member, name)
        );
        CREATE INDEX group_member_by_group ON group_member (name);
        CREATE FUNCTION keep_group_members() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP <> 'INSERT' THEN DELETE FROM group_member WHERE name = OLD.name; END IF;
            IF TG_OP <> 'DELETE' THEN
                INSERT INTO group_member SELECT DISTINCT jsonb_array_elements_text(NEW.members::jsonb), NEW.name;
            END IF;
            RETURN NULL;
        END $$;
        CREATE TRIGGER group_has_members AFTER INSERT OR UPDATE OR DELETE ON call_group
            FOR EACH ROW EXECUTE FUNCTION keep_group_members();
        CREATE TABLE call_rules (
            handle text COLLATE "C" PRIMARY KEY, blocked text NOT NULL, forward_busy text, forward_no_answer text,
            no_answer_after bigint
        );
        CREATE TABLE token_revocation (handle text COLLATE "C" PRIMARY KEY, issued_before bigint NOT NULL);
        """

    private static let views = """
        CREATE VIEW calls_readable AS SELECT id, state, end_reason, caller_user AS caller, callee, members, video,
            answered_by_user AS answered_by, ended_by_user AS ended_by, \(time("created_at")), \(time("ringing_at")),
            \(time("answered_at")), \(time("connected_at")), \(time("ended_at")), merged_into
        FROM call;
        CREATE VIEW legs_readable AS SELECT call, user, device, state, end_reason, push, \(time("created_at")),
            \(time("offered_at")), \(time("woken_at")), \(time("ringing_at")), \(time("answered_at")),
            \(time("ended_at"))
        FROM leg;
        CREATE VIEW pushes_readable AS SELECT id, purpose, call, user, device, provider, kind, status, report, reason,
            report_error, \(time("intended_at")), \(time("expires_at")), \(time("sent_at")), \(time("answered_at")),
            \(time("reported_at")), \(time("report_due_at"))
        FROM push;
        CREATE VIEW devices_readable AS SELECT user, device, platform, app, name, \(time("seen_at")),
            unreported_streak, \(time("suspended_at")),
            (SELECT count(*) FROM push_token t WHERE t.user = device.user AND t.device = device.device) AS tokens
        FROM device;
        """

    private static func time(_ column: String) -> String { "to_timestamp(\(column) / 1000.0) AS \(column)" }
}
