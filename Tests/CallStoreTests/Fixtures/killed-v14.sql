CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
INSERT INTO grdb_migrations (identifier) VALUES ('v1');
INSERT INTO grdb_migrations (identifier) VALUES ('v2');
INSERT INTO grdb_migrations (identifier) VALUES ('v3');
INSERT INTO grdb_migrations (identifier) VALUES ('v4');
INSERT INTO grdb_migrations (identifier) VALUES ('v5');
INSERT INTO grdb_migrations (identifier) VALUES ('v6');
INSERT INTO grdb_migrations (identifier) VALUES ('v7');
INSERT INTO grdb_migrations (identifier) VALUES ('v8');
INSERT INTO grdb_migrations (identifier) VALUES ('v9');
INSERT INTO grdb_migrations (identifier) VALUES ('v10');
INSERT INTO grdb_migrations (identifier) VALUES ('v11');
INSERT INTO grdb_migrations (identifier) VALUES ('v12');
INSERT INTO grdb_migrations (identifier) VALUES ('v13');
INSERT INTO grdb_migrations (identifier) VALUES ('v14');
CREATE TABLE device (
    user TEXT NOT NULL, device BLOB NOT NULL, platform TEXT NOT NULL, app TEXT, name TEXT,
    seen_at INTEGER NOT NULL, unreported_streak INTEGER NOT NULL, suspended_at INTEGER, probes INTEGER NOT NULL DEFAULT 0, next_probe_at INTEGER,
    PRIMARY KEY (user, device)
) STRICT, WITHOUT ROWID;
INSERT INTO device (user, device, platform, app, name, seen_at, unreported_streak, suspended_at, probes, next_probe_at) VALUES ('bob', X'00000000000000020000000000000001', 'ios', 'org.example.phone 4.2', NULL, 1790000000009, 2, NULL, 0, NULL);
INSERT INTO device (user, device, platform, app, name, seen_at, unreported_streak, suspended_at, probes, next_probe_at) VALUES ('carol', X'00000000000000020000000000000001', 'ios', 'org.example.phone 4.2', NULL, 1790000000009, 2, NULL, 0, NULL);
CREATE TABLE push_token (
    user TEXT NOT NULL, device BLOB NOT NULL, position INTEGER NOT NULL,
    provider TEXT NOT NULL, kind TEXT NOT NULL, environment TEXT NOT NULL, topic TEXT NOT NULL,
    token TEXT NOT NULL, registered_at INTEGER NOT NULL, profile TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (user, device, position)
) STRICT, WITHOUT ROWID;
INSERT INTO push_token (user, device, position, provider, kind, environment, topic, token, registered_at, profile) VALUES ('bob', X'00000000000000020000000000000001', 0, 'apns', 'voip', 'sandbox', 'org.example.phone.voip', 'b1', 1790000000000, '');
INSERT INTO push_token (user, device, position, provider, kind, environment, topic, token, registered_at, profile) VALUES ('bob', X'00000000000000020000000000000001', 1, 'apns', 'voip', 'sandbox', 'org.example.phone.voip', 'b2', 1790000000001, '');
INSERT INTO push_token (user, device, position, provider, kind, environment, topic, token, registered_at, profile) VALUES ('carol', X'00000000000000020000000000000001', 0, 'apns', 'voip', 'sandbox', 'org.example.phone.voip', 'c1', 1790000000000, '');
CREATE TABLE missed_call (
    user TEXT NOT NULL, call BLOB NOT NULL, caller TEXT NOT NULL, at INTEGER NOT NULL, reason TEXT NOT NULL,
    video INTEGER NOT NULL, from_name TEXT,
    PRIMARY KEY (user, call)
) STRICT, WITHOUT ROWID;
INSERT INTO missed_call (user, call, caller, at, reason, video, from_name) VALUES ('carol', X'00000000000000010000000000000004', 'alice', 1790000004040, 'ring_timeout', 0, NULL);
CREATE TABLE call (
    serial INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE, caller_user TEXT NOT NULL, caller_device BLOB, caller_name TEXT,
    callee TEXT NOT NULL, video INTEGER NOT NULL, invite_digest INTEGER NOT NULL, state TEXT NOT NULL,
    created_at INTEGER NOT NULL, rings_until INTEGER NOT NULL, ringing_at INTEGER, answered_at INTEGER,
    answered_by_user TEXT, answered_by_device BLOB, connects_until INTEGER, caller_connected_at INTEGER,
    callee_connected_at INTEGER, connected_at INTEGER, ended_at INTEGER, end_reason TEXT,
    ended_by_user TEXT, ended_by_device BLOB, merged_into BLOB
, members TEXT, hunt_rung INTEGER, hunt_next_at INTEGER, lost_at INTEGER, hunt_steps TEXT, forwards TEXT, ring_time INTEGER, max_duration INTEGER, event_count INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO call (serial, id, caller_user, caller_device, caller_name, callee, video, invite_digest, state, created_at, rings_until, ringing_at, answered_at, answered_by_user, answered_by_device, connects_until, caller_connected_at, callee_connected_at, connected_at, ended_at, end_reason, ended_by_user, ended_by_device, merged_into, members, hunt_rung, hunt_next_at, lost_at, hunt_steps, forwards, ring_time, max_duration, event_count) VALUES (1, X'00000000000000010000000000000001', 'alice', X'00000000000000020000000000000009', 'Alice “A” \ Example', '{"user":"bob"}', 1, -2, 'ringing', 1790000001000, 1790000046000, 1790000001010, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0);
INSERT INTO call (serial, id, caller_user, caller_device, caller_name, callee, video, invite_digest, state, created_at, rings_until, ringing_at, answered_at, answered_by_user, answered_by_device, connects_until, caller_connected_at, callee_connected_at, connected_at, ended_at, end_reason, ended_by_user, ended_by_device, merged_into, members, hunt_rung, hunt_next_at, lost_at, hunt_steps, forwards, ring_time, max_duration, event_count) VALUES (2, X'00000000000000010000000000000002', 'alice', X'00000000000000020000000000000009', 'Alice “A” \ Example', '{"user":"bob"}', 0, -3, 'answered', 1790000002000, 1790000047000, 1790000002010, 1790000002020, 'bob', X'00000000000000020000000000000001', 1790000032020, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0);
INSERT INTO call (serial, id, caller_user, caller_device, caller_name, callee, video, invite_digest, state, created_at, rings_until, ringing_at, answered_at, answered_by_user, answered_by_device, connects_until, caller_connected_at, callee_connected_at, connected_at, ended_at, end_reason, ended_by_user, ended_by_device, merged_into, members, hunt_rung, hunt_next_at, lost_at, hunt_steps, forwards, ring_time, max_duration, event_count) VALUES (3, X'00000000000000010000000000000006', 'alice', X'00000000000000020000000000000009', 'Alice “A” \ Example', '{"user":"bob"}', 0, -7, 'ringing', 1790000006000, 1790000051000, 1790000006010, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '["bob","dave"]', 2, NULL, NULL, '[null,0]', '[{"reason":"busy","to":{"group":"desk"},"at":1790000006005,"first":1}]', 45000, 3600000, 0);
INSERT INTO call (serial, id, caller_user, caller_device, caller_name, callee, video, invite_digest, state, created_at, rings_until, ringing_at, answered_at, answered_by_user, answered_by_device, connects_until, caller_connected_at, callee_connected_at, connected_at, ended_at, end_reason, ended_by_user, ended_by_device, merged_into, members, hunt_rung, hunt_next_at, lost_at, hunt_steps, forwards, ring_time, max_duration, event_count) VALUES (4, X'00000000000000010000000000000003', 'alice', X'00000000000000020000000000000009', 'Alice “A” \ Example', '{"user":"carol"}', 0, -4, 'answered', 1790000003000, 1790000048000, 1790000003010, 1790000003020, 'carol', X'00000000000000020000000000000001', 1790000033020, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0);
INSERT INTO call (serial, id, caller_user, caller_device, caller_name, callee, video, invite_digest, state, created_at, rings_until, ringing_at, answered_at, answered_by_user, answered_by_device, connects_until, caller_connected_at, callee_connected_at, connected_at, ended_at, end_reason, ended_by_user, ended_by_device, merged_into, members, hunt_rung, hunt_next_at, lost_at, hunt_steps, forwards, ring_time, max_duration, event_count) VALUES (5, X'00000000000000010000000000000004', 'alice', X'00000000000000020000000000000009', 'Alice “A” \ Example', '{"user":"carol"}', 0, -5, 'ended', 1790000004000, 1790000049000, 1790000004010, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1790000004040, 'ring_timeout', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0);
CREATE TABLE push (
    serial INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE, call BLOB NOT NULL, user TEXT NOT NULL, device BLOB NOT NULL,
    provider TEXT NOT NULL, kind TEXT NOT NULL, environment TEXT NOT NULL, topic TEXT NOT NULL,
    token TEXT NOT NULL, status TEXT NOT NULL, report TEXT, reason TEXT, report_error TEXT,
    intended_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, sent_at INTEGER, answered_at INTEGER,
    reported_at INTEGER, report_due_at INTEGER
, purpose TEXT NOT NULL DEFAULT 'call', call_serial INTEGER NOT NULL DEFAULT 0, profile TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO push (serial, id, call, user, device, provider, kind, environment, topic, token, status, report, reason, report_error, intended_at, expires_at, sent_at, answered_at, reported_at, report_due_at, purpose, call_serial, profile) VALUES (1, X'00000000000000030000000000000001', X'00000000000000010000000000000001', 'bob', X'00000000000000020000000000000001', 'apns', 'voip', 'sandbox', 'org.example.phone.voip', 'a1', 'accepted', 'awaited', NULL, NULL, 1790000001000, 1790000046000, 1790000001001, 1790000001002, NULL, 1790000046000, 'call', 1, '');
INSERT INTO push (serial, id, call, user, device, provider, kind, environment, topic, token, status, report, reason, report_error, intended_at, expires_at, sent_at, answered_at, reported_at, report_due_at, purpose, call_serial, profile) VALUES (2, X'00000000000000030000000000000004', X'00000000000000010000000000000004', 'carol', X'00000000000000020000000000000001', 'apns', 'voip', 'sandbox', 'org.example.phone.voip', 'a1', 'accepted', 'unreported', NULL, NULL, 1790000004000, 1790000049000, 1790000004001, 1790000004002, NULL, NULL, 'call', 5, '');
INSERT INTO push (serial, id, call, user, device, provider, kind, environment, topic, token, status, report, reason, report_error, intended_at, expires_at, sent_at, answered_at, reported_at, report_due_at, purpose, call_serial, profile) VALUES (3, X'00000000000000040000000000000001', X'00000000000000010000000000000004', 'carol', X'00000000000000020000000000000001', 'apns', 'alert', 'sandbox', 'org.example.phone.voip', 'c1', 'intended', NULL, NULL, NULL, 1790000004100, 1790003600000, NULL, NULL, NULL, NULL, 'missed_call', 5, '');
CREATE TABLE call_candidates (
    serial INTEGER PRIMARY KEY,
    call BLOB NOT NULL, user TEXT, device BLOB, candidates TEXT NOT NULL, is_final INTEGER NOT NULL
) STRICT;
INSERT INTO call_candidates (serial, call, user, device, candidates, is_final) VALUES (1, X'00000000000000010000000000000001', NULL, NULL, '[{"a":1},{"b":2}]', 0);
CREATE TABLE call_group (
    name TEXT NOT NULL UNIQUE, strategy TEXT NOT NULL, members TEXT NOT NULL
, delays TEXT) STRICT;
INSERT INTO call_group (name, strategy, members, delays) VALUES ('sales', 'hunt', '["bob","carol"]', NULL);
CREATE TABLE user_policy (
    handle TEXT PRIMARY KEY, call_waiting INTEGER NOT NULL, decline TEXT NOT NULL,
    do_not_disturb INTEGER NOT NULL
, missed_calls TEXT NOT NULL DEFAULT 'off') STRICT, WITHOUT ROWID;
INSERT INTO user_policy (handle, call_waiting, decline, do_not_disturb, missed_calls) VALUES ('bob', 0, 'device', 1, 'background');
CREATE TABLE alias (handle TEXT PRIMARY KEY, user TEXT NOT NULL) STRICT, WITHOUT ROWID;
INSERT INTO alias (handle, user) VALUES ('+81312345678', 'bob');
CREATE TABLE leg (
    serial INTEGER PRIMARY KEY,
    call BLOB NOT NULL, call_serial INTEGER NOT NULL, user TEXT NOT NULL, device BLOB NOT NULL,
    push BLOB NOT NULL, state TEXT NOT NULL, created_at INTEGER NOT NULL, offered_at INTEGER, woken_at INTEGER,
    ringing_at INTEGER, answered_at INTEGER, ended_at INTEGER, end_reason TEXT,
    UNIQUE (call_serial, user, device)
) STRICT;
INSERT INTO leg (serial, call, call_serial, user, device, push, state, created_at, offered_at, woken_at, ringing_at, answered_at, ended_at, end_reason) VALUES (1, X'00000000000000010000000000000001', 1, 'bob', X'00000000000000020000000000000001', X'00000000000000030000000000000001', 'ringing', 1790000001000, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO leg (serial, call, call_serial, user, device, push, state, created_at, offered_at, woken_at, ringing_at, answered_at, ended_at, end_reason) VALUES (2, X'00000000000000010000000000000002', 2, 'bob', X'00000000000000020000000000000001', X'00000000000000030000000000000002', 'answered', 1790000002000, NULL, NULL, NULL, 1790000002020, NULL, NULL);
INSERT INTO leg (serial, call, call_serial, user, device, push, state, created_at, offered_at, woken_at, ringing_at, answered_at, ended_at, end_reason) VALUES (3, X'00000000000000010000000000000003', 4, 'carol', X'00000000000000020000000000000001', X'00000000000000030000000000000003', 'answered', 1790000003000, NULL, NULL, NULL, 1790000003020, NULL, NULL);
INSERT INTO leg (serial, call, call_serial, user, device, push, state, created_at, offered_at, woken_at, ringing_at, answered_at, ended_at, end_reason) VALUES (4, X'00000000000000010000000000000004', 5, 'carol', X'00000000000000020000000000000001', X'00000000000000030000000000000004', 'ended', 1790000004000, NULL, NULL, NULL, NULL, 1790000004040, 'ring_timeout');
CREATE TABLE call_party (
    user TEXT NOT NULL, created_at INTEGER NOT NULL, call_serial INTEGER NOT NULL,
    PRIMARY KEY (user, created_at, call_serial)
) STRICT, WITHOUT ROWID;
INSERT INTO call_party (user, created_at, call_serial) VALUES ('alice', 1790000001000, 1);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('alice', 1790000002000, 2);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('alice', 1790000003000, 4);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('alice', 1790000004000, 5);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('alice', 1790000006000, 3);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('bob', 1790000001000, 1);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('bob', 1790000002000, 2);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('bob', 1790000006000, 3);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('carol', 1790000003000, 4);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('carol', 1790000004000, 5);
INSERT INTO call_party (user, created_at, call_serial) VALUES ('dave', 1790000006000, 3);
CREATE TABLE settled (store BLOB NOT NULL, through INTEGER NOT NULL, open_boot BLOB) STRICT;
INSERT INTO settled (store, through, open_boot) VALUES (X'0102030405060708090A0B0C0D0E0F10', 2, NULL);
CREATE TABLE call_descriptions (
    serial INTEGER PRIMARY KEY, call BLOB NOT NULL UNIQUE, offer TEXT, custom TEXT, answer TEXT
) STRICT;
INSERT INTO call_descriptions (serial, call, offer, custom, answer) VALUES (1, X'00000000000000010000000000000001', '{"sdp":"v=0\r\no=- 1"}', '{"room":"é📞"}', NULL);
INSERT INTO call_descriptions (serial, call, offer, custom, answer) VALUES (2, X'00000000000000010000000000000002', NULL, NULL, '"v=0 answer"');
INSERT INTO call_descriptions (serial, call, offer, custom, answer) VALUES (3, X'00000000000000010000000000000003', NULL, NULL, '"v=0 answer"');
CREATE TABLE call_absence (
    serial INTEGER PRIMARY KEY, call BLOB NOT NULL, call_serial INTEGER NOT NULL, role TEXT NOT NULL,
    lost_at INTEGER NOT NULL, returned_at INTEGER,
    UNIQUE (call_serial, role, lost_at)
) STRICT;
CREATE TABLE call_rules (
    handle TEXT PRIMARY KEY, blocked TEXT NOT NULL, forward_busy TEXT, forward_no_answer TEXT,
    no_answer_after INTEGER
) STRICT, WITHOUT ROWID;
INSERT INTO call_rules (handle, blocked, forward_busy, forward_no_answer, no_answer_after) VALUES ('bob', '[]', NULL, NULL, NULL);
CREATE TABLE token_revocation (handle TEXT PRIMARY KEY, issued_before INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE event (
    position INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
    call BLOB, user TEXT, device BLOB, body TEXT NOT NULL
) STRICT;
INSERT INTO event (position, id, kind, at, call, user, device, body) VALUES (1, X'00000000000000050000000000000001', 'call.invited', 1790000005000, X'00000000000000010000000000000005', 'alice', NULL, '{"type":"call.invited","timestamp":"2026-09-21T14:13:25.000Z","data":{"seq":1,"call":{"call_id":"00000000-0000-0001-0000-000000000005","state":"routing","from":"alice","from_device_id":"00000000-0000-0002-0000-000000000009","from_name":"Alice “A” \\ Example","to":"dave","video":false,"created_at":{"ms":1790000005000,"rfc3339":"2026-09-21T14:13:25.000Z"},"rings_until":{"ms":1790000050000,"rfc3339":"2026-09-21T14:14:10.000Z"}}}}');
CREATE TABLE group_member (
    member TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (member, name)
) STRICT, WITHOUT ROWID;
INSERT INTO group_member (member, name) VALUES ('bob', 'sales');
INSERT INTO group_member (member, name) VALUES ('carol', 'sales');
CREATE INDEX call_by_time ON call (created_at);
CREATE INDEX call_live ON call (created_at) WHERE state <> 'ended';
CREATE INDEX push_by_time ON push (intended_at);
CREATE INDEX push_open ON push (intended_at) WHERE (status IN ('intended', 'sent') OR report = 'awaited');
CREATE VIEW devices_readable AS SELECT user, iif(device IS NULL, NULL, substr(lower(hex(device)), 1, 8) || '-' || substr(lower(hex(device)), 9, 4) || '-' || substr(lower(hex(device)), 13, 4) || '-' || substr(lower(hex(device)), 17, 4) || '-' || substr(lower(hex(device)), 21, 12)) AS device, platform, app, name,
    strftime('%Y-%m-%dT%H:%M:%fZ', seen_at / 1000.0, 'unixepoch') AS seen_at, unreported_streak, strftime('%Y-%m-%dT%H:%M:%fZ', suspended_at / 1000.0, 'unixepoch') AS suspended_at,
    (SELECT count(*) FROM push_token t WHERE t.user = device.user AND t.device = device.device) AS tokens
FROM device;
CREATE INDEX call_candidates_by_call ON call_candidates (call);
CREATE VIEW calls_readable AS SELECT iif(id IS NULL, NULL, substr(lower(hex(id)), 1, 8) || '-' || substr(lower(hex(id)), 9, 4) || '-' || substr(lower(hex(id)), 13, 4) || '-' || substr(lower(hex(id)), 17, 4) || '-' || substr(lower(hex(id)), 21, 12)) AS id, state, end_reason, caller_user AS caller, callee,
    members, video, answered_by_user AS answered_by, ended_by_user AS ended_by,
    strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at, strftime('%Y-%m-%dT%H:%M:%fZ', ringing_at / 1000.0, 'unixepoch') AS ringing_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', answered_at / 1000.0, 'unixepoch') AS answered_at, strftime('%Y-%m-%dT%H:%M:%fZ', connected_at / 1000.0, 'unixepoch') AS connected_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at, iif(merged_into IS NULL, NULL, substr(lower(hex(merged_into)), 1, 8) || '-' || substr(lower(hex(merged_into)), 9, 4) || '-' || substr(lower(hex(merged_into)), 13, 4) || '-' || substr(lower(hex(merged_into)), 17, 4) || '-' || substr(lower(hex(merged_into)), 21, 12)) AS merged_into, hunt_rung,
    strftime('%Y-%m-%dT%H:%M:%fZ', hunt_next_at / 1000.0, 'unixepoch') AS hunt_next_at
FROM call;
CREATE VIEW pushes_readable AS SELECT iif(id IS NULL, NULL, substr(lower(hex(id)), 1, 8) || '-' || substr(lower(hex(id)), 9, 4) || '-' || substr(lower(hex(id)), 13, 4) || '-' || substr(lower(hex(id)), 17, 4) || '-' || substr(lower(hex(id)), 21, 12)) AS id, purpose, iif(call IS NULL, NULL, substr(lower(hex(call)), 1, 8) || '-' || substr(lower(hex(call)), 9, 4) || '-' || substr(lower(hex(call)), 13, 4) || '-' || substr(lower(hex(call)), 17, 4) || '-' || substr(lower(hex(call)), 21, 12)) AS call, user,
    iif(device IS NULL, NULL, substr(lower(hex(device)), 1, 8) || '-' || substr(lower(hex(device)), 9, 4) || '-' || substr(lower(hex(device)), 13, 4) || '-' || substr(lower(hex(device)), 17, 4) || '-' || substr(lower(hex(device)), 21, 12)) AS device, provider, kind, status, report, reason, report_error,
    strftime('%Y-%m-%dT%H:%M:%fZ', intended_at / 1000.0, 'unixepoch') AS intended_at, strftime('%Y-%m-%dT%H:%M:%fZ', expires_at / 1000.0, 'unixepoch') AS expires_at, strftime('%Y-%m-%dT%H:%M:%fZ', sent_at / 1000.0, 'unixepoch') AS sent_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', answered_at / 1000.0, 'unixepoch') AS answered_at, strftime('%Y-%m-%dT%H:%M:%fZ', reported_at / 1000.0, 'unixepoch') AS reported_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', report_due_at / 1000.0, 'unixepoch') AS report_due_at
FROM push;
CREATE INDEX missed_call_by_time ON missed_call (user, at);
CREATE INDEX device_suspended ON device (user, device) WHERE suspended_at IS NOT NULL;
CREATE INDEX push_by_call ON push (call_serial);
CREATE TRIGGER call_has_new_members AFTER UPDATE OF members ON call WHEN NEW.members IS NOT OLD.members BEGIN
    INSERT INTO call_party (user, created_at, call_serial)
    SELECT value, NEW.created_at, NEW.serial FROM json_each(NEW.members) WHERE true ON CONFLICT DO NOTHING;
END;
CREATE VIEW legs_readable AS SELECT iif(call IS NULL, NULL, substr(lower(hex(call)), 1, 8) || '-' || substr(lower(hex(call)), 9, 4) || '-' || substr(lower(hex(call)), 13, 4) || '-' || substr(lower(hex(call)), 17, 4) || '-' || substr(lower(hex(call)), 21, 12)) AS call, user, iif(device IS NULL, NULL, substr(lower(hex(device)), 1, 8) || '-' || substr(lower(hex(device)), 9, 4) || '-' || substr(lower(hex(device)), 13, 4) || '-' || substr(lower(hex(device)), 17, 4) || '-' || substr(lower(hex(device)), 21, 12)) AS device, state,
    end_reason, iif(push IS NULL, NULL, substr(lower(hex(push)), 1, 8) || '-' || substr(lower(hex(push)), 9, 4) || '-' || substr(lower(hex(push)), 13, 4) || '-' || substr(lower(hex(push)), 17, 4) || '-' || substr(lower(hex(push)), 21, 12)) AS push, strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000.0, 'unixepoch') AS created_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', offered_at / 1000.0, 'unixepoch') AS offered_at, strftime('%Y-%m-%dT%H:%M:%fZ', woken_at / 1000.0, 'unixepoch') AS woken_at, strftime('%Y-%m-%dT%H:%M:%fZ', ringing_at / 1000.0, 'unixepoch') AS ringing_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', answered_at / 1000.0, 'unixepoch') AS answered_at, strftime('%Y-%m-%dT%H:%M:%fZ', ended_at / 1000.0, 'unixepoch') AS ended_at
FROM leg;
CREATE VIEW absences_readable AS SELECT iif(call IS NULL, NULL, substr(lower(hex(call)), 1, 8) || '-' || substr(lower(hex(call)), 9, 4) || '-' || substr(lower(hex(call)), 13, 4) || '-' || substr(lower(hex(call)), 17, 4) || '-' || substr(lower(hex(call)), 21, 12)) AS call, role, strftime('%Y-%m-%dT%H:%M:%fZ', lost_at / 1000.0, 'unixepoch') AS lost_at,
    strftime('%Y-%m-%dT%H:%M:%fZ', returned_at / 1000.0, 'unixepoch') AS returned_at
FROM call_absence;
CREATE INDEX call_by_end ON call (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX push_token_by_end ON push_token (substr(token, -24));
CREATE INDEX alias_by_user ON alias (user);
CREATE INDEX push_sync_by_user ON push (user, intended_at) WHERE purpose = 'sync';
CREATE TRIGGER group_has_members AFTER INSERT ON call_group BEGIN
    INSERT INTO group_member SELECT value, NEW.name FROM json_each(iif(json_valid(NEW.members), NEW.members, '[]'))
    WHERE type = 'text' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER group_has_other_members AFTER UPDATE ON call_group BEGIN
    DELETE FROM group_member WHERE (member, name) IN (SELECT value, OLD.name FROM json_each(iif(json_valid(OLD.members), OLD.members, '[]')));
    INSERT INTO group_member SELECT value, NEW.name FROM json_each(iif(json_valid(NEW.members), NEW.members, '[]'))
    WHERE type = 'text' ON CONFLICT DO NOTHING;
END;
CREATE TRIGGER group_is_deleted AFTER DELETE ON call_group BEGIN
    DELETE FROM group_member WHERE (member, name) IN (SELECT value, OLD.name FROM json_each(iif(json_valid(OLD.members), OLD.members, '[]')));
END;
-- journal
CREATE TABLE journal (
    entry INTEGER PRIMARY KEY, format INTEGER NOT NULL, operations BLOB NOT NULL, checksum INTEGER NOT NULL
) STRICT;
INSERT INTO journal (entry, format, operations, checksum) VALUES (3, 5, X'06040000000000000001000000000000000505046461766504000000000000000200000000000000010400000000000000030000000000000005050677616B696E6703887F50C4A00100000000000000000504000000000000000100000000000000050505616C69636504000000000000000200000000000000090517416C69636520E2809C41E2809D205C204578616D706C65060F0000007B2275736572223A2264617665227D0103FAFFFFFFFFFFFFFF0507726F7574696E6703887F50C4A001000003502F51C4A0010000000000000000000000000000000000000000000000030000000000000000070400000000000000030000000000000005050463616C6C04000000000000000100000000000000050504646176650400000000000000020000000000000001050461706E730504766F6970050773616E64626F7805166F72672E6578616D706C652E70686F6E652E766F69700502613105000508696E74656E64656400000003887F50C4A001000003502F51C4A00100000000000008040000000000000001000000000000000505167B22736470223A22763D305C725C6E6F3D2D2031227D00000C0400000000000000010000000000000005050464617665040000000000000002000000000000000105095B7B2263223A337D5D020504000000000000000100000000000000010505616C69636504000000000000000200000000000000090517416C69636520E2809C41E2809D205C204578616D706C65060E0000007B2275736572223A22626F62227D0203FEFFFFFFFFFFFFFF0508616E73776572656403E86F50C4A001000003B01F51C4A001000003F26F50C4A001000003FC6F50C4A00100000503626F620400000000000000020000000000000001032CE550C4A0010000000000000000000000000000000000000300000000000000000604000000000000000100000000000000010503626F62040000000000000002000000000000000104000000000000000300000000000000010508616E73776572656403E86F50C4A001000000000003FC6F50C4A00100000000070400000000000000030000000000000001050463616C6C04000000000000000100000000000000010503626F620400000000000000020000000000000001050461706E730504766F6970050773616E64626F7805166F72672E6578616D706C652E70686F6E652E766F69700502613105000508616363657074656405087265706F72746564000003E86F50C4A001000003B01F51C4A001000003E96F50C4A001000003EA6F50C4A001000000000804000000000000000100000000000000010000050C22763D3020616E7377657222010503626F6204000000000000000200000000000000010503696F7305156F72672E6578616D706C652E70686F6E6520342E320003096C50C4A00100000302000000000000000003000000000000000000030503626F620400000000000000020000000000000001030000000000000000050461706E730504766F6970050773616E64626F7805166F72672E6578616D706C652E70686F6E652E766F697005026232050003006C50C4A0010000040503626F6204000000000000000200000000000000010301000000000000000205056361726F6C04000000000000000200000000000000010405056361726F6C0400000000000000020000000000000001030000000000000000', 4634978484968492548);
INSERT INTO journal (entry, format, operations, checksum) VALUES (4, 5, X'0504000000000000000100000000000000020505616C69636504000000000000000200000000000000090517416C69636520E2809C41E2809D205C204578616D706C65060E0000007B2275736572223A22626F62227D0103FDFFFFFFFFFFFFFF0509636F6E6E656374656403D07350C4A001000003982351C4A001000003DA7350C4A001000003E47350C4A00100000503626F6204000000000000000200000000000000010314E950C4A0010000000003EE7350C4A0010000000000000000000000000000000300000000000000000904000000000000000100000000000000020D04000000000000000100000000000000010105046461766504000000000000000200000000000000010503696F7305156F72672E6578616D706C652E70686F6E6520342E320003096C50C4A001000003020000000000000003086C50C4A0010000030000000000000000000405046461766504000000000000000200000000000000010300000000000000000B05056361726F6C03C87B50C4A00100000A0503626F6204000000000000000100000000000000040505616C6963650003D27B50C4A0010000050C72696E675F74696D656F7574010F050573616C65730E05046465736B0503616C6C06080000005B2264617665225D0012050C2B3831333132333435363738110509726563657074696F6E05056361726F6C1005056361726F6C01050664657669636502050A6261636B67726F756E64070400000000000000040000000000000002050B6D69737365645F63616C6C040000000000000001000000000000000405056361726F6C0400000000000000020000000000000002050461706E730505616C657274050773616E64626F7805166F72672E6578616D706C652E70686F6E652E766F69700502633105000508696E74656E64656400000003047C50C4A001000003805A87C4A001000000000000140503626F62060B0000005B226D616C6C6F7279225D06100000007B2267726F7570223A226465736B227D06100000007B2275736572223A226361726F6C227D03204E0000000000000E05046C6174650503616C6C060F0000005B2264617665222C226572696E225D060D0000007B226572696E223A393030307D1505056361726F6C03047C50C4A001000016040000000000000005000000000000000205106465766963652E73757370656E64656403897F50C4A001000000050464617665040000000000000002000000000000000106890100007B2274797065223A226465766963652E73757370656E646564222C2274696D657374616D70223A22323032362D30392D32315431343A31333A32352E3030315A222C2264617461223A7B22646576696365223A7B2275736572223A2264617665222C226465766963655F6964223A2230303030303030302D303030302D303030322D303030302D303030303030303030303031222C22706C6174666F726D223A22696F73222C22617070223A226F72672E6578616D706C652E70686F6E6520342E32222C22746F6B656E73223A5B5D2C227365656E5F6174223A7B226D73223A313739303030303030303030392C2272666333333339223A22323032362D30392D32315431343A31333A32302E3030395A227D2C22756E7265706F727465645F73747265616B223A322C2269735F73757370656E646564223A747275652C2273757370656E6465645F6174223A7B226D73223A313739303030303030303030382C2272666333333339223A22323032362D30392D32315431343A31333A32302E3030385A227D7D7D7D', 7182804284387746687);
CREATE TABLE owner (store BLOB NOT NULL) STRICT;
INSERT INTO owner (store) VALUES (X'0102030405060708090A0B0C0D0E0F10');
