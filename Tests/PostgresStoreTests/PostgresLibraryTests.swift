import ChildProcess
import Foundation
import StoreInterface
import Testing

@testable import PostgresStore

@Suite struct PostgresLibraryTests {
    /// The declarations of `CPostgreSQL`, compiled together with libpq's own header.
    private static let program = """
        #include <stddef.h>
        #include <libpq-fe.h>
        #include <postgres_ext.h>
        #define POSTGRESQL_HAS_TYPES
        #include "postgresql_functions.h"
        #define CHECK(result, name, parameters) \\
            _Static_assert(__builtin_types_compatible_p(__typeof__(&name), result (*) parameters), #name);
        POSTGRESQL_FUNCTIONS(CHECK)
        _Static_assert(CONNECTION_OK == POSTGRESQL_CONNECTION_OK, "");
        _Static_assert(PGRES_COMMAND_OK == POSTGRESQL_COMMAND_OK, "");
        _Static_assert(PGRES_TUPLES_OK == POSTGRESQL_TUPLES_OK, "");
        _Static_assert(PGRES_PIPELINE_SYNC == POSTGRESQL_PIPELINE_SYNC, "");
        _Static_assert(PGRES_PIPELINE_ABORTED == POSTGRESQL_PIPELINE_ABORTED, "");
        _Static_assert(PG_DIAG_SQLSTATE == POSTGRESQL_SQLSTATE, "");
        _Static_assert(PG_DIAG_MESSAGE_PRIMARY == POSTGRESQL_MESSAGE, "");
        _Static_assert(__builtin_types_compatible_p(Oid, unsigned int), "");
        """

    @Test func `the declarations of libpq are those of its header`() async throws {
        let sources = #filePath.components(separatedBy: "/Tests/")[0] + "/Sources/CPostgreSQL/include"
        let compiled = try await ChildProcess.run(
            try ChildProcess.find("cc", package: "gcc"),
            ["-xc", "-fsyntax-only", "-I/usr/include/postgresql", "-I", sources, "-"], input: Self.program)
        #expect(compiled.ending == .exit(0), "\(compiled.output)")
    }

    @Test func `a statement for SQLite becomes one for PostgreSQL`() {
        let statement = StatementText(
            "SELECT user, 'user?' FROM call WHERE call.user = ? AND a = ?3 AND caller_user = ?")
        #expect(
            statement.sql
                == #"SELECT "user", 'user?' FROM call WHERE call."user" = $1 AND a = $3 AND caller_user = $4"#)
        #expect(statement.parameterCount == 4)
    }

    @Test(arguments: [
        ("postgres://bob:geheim@db.example.org:5432/calls", "postgres://bob@db.example.org:5432/calls"),
        ("postgresql://bob:ge%2Fheim@h/d?password=geheim&host=/run/pg", "postgresql://bob@h/d?host=/run/pg"),
        ("postgres://bob:ge%40heim@h1,h2/d?sslpassword=geheim", "postgres://bob@h1,h2/d"),
        ("postgres:///d?pass%77ord=geheim", "postgres:///d"), ("postgres://bob:ge#heim:@h/d", "postgres://bob@h/d"),
        ("geheim", "…"),
        // With a password that is not percent-encoded, nobody knows where it ends.
        ("postgres://bob:ge@heim@h/d", "…"), ("postgres://bob:ge/heim@h/d", "…"), ("postgres://bob:ge?heim@h/d", "…"),
        ("postgres://bob:geheim", "…"), ("postgres://bob:geheim/d", "…"), ("postgres://bob:100%heim@h/d", "…"),
        ("postgres://bob:ge heim@h/d", "…"), ("postgres://bob:ge%00heim@h/d", "…"),
        ("postgres:///d?password=ge&heim", "…"), ("postgres:///d?password=ge=heim", "…"),
        ("postgres:///d?password=ge@heim", "…"), ("postgres://bob:ge@\u{301}heim@h/d", "…"),
        ("postgres://h:5432:geheim/d", "…"), ("postgres://h1:5432,h2:geheim/d", "…"),
    ])
    func `an address is shown without its secrets`(uri: String, shown: String) {
        #expect(PostgresAddress.redacted(uri) == shown)
        #expect(!PostgresAddress.redacted(uri).contains("heim"))
    }

    @Test func `what cannot be read is no address`() {
        for uri in ["postgres://bob:ge@heim@h/d", "postgres://bob:ge?heim@h/d", "postgres://h/d?a", "mysql://h/d", ""] {
            #expect(PostgresAddress(uri) == nil, "\(uri)")
        }
        for uri in ["postgres://", "postgres:///", "postgres://h?", "postgresql://u@h1:1,[::1]:2,h3/a/b?x=1&y=%20"] {
            #expect(PostgresAddress(uri) != nil, "\(uri)")
        }
    }

    @Test(arguments: [
        ("postgres://u@h/d", false), ("postgres://u:@h/d", false), ("postgres://u@h/d?passfile=/x", false),
        ("postgres://u@h/d?password=", false), ("postgres://u:p@h/d", true), ("postgres://:p@h/d", true),
        ("postgres://u@h/d?password=p", true), ("postgres://u@h/d?pass%77ord=p", true),
        ("postgres://u@h/d?sslpassword=p", true),
    ])
    func `an address has a password in one of three places`(uri: String, hasPassword: Bool) throws {
        #expect(try #require(PostgresAddress(uri)).hasPassword == hasPassword)
    }

    private static let hosts: [(uri: String, environment: [String: String], host: String?)] = [
        ("postgres:///d", [:], nil), ("postgres://u@/d?host=/run/pg", [:], nil), ("postgres://%2Frun%2Fpg/d", [:], nil),
        ("postgres:///d?host=%40name", [:], nil), ("postgres://u@LocalHost/d", [:], nil),
        ("postgres://127.0.0.1:5432,[::1],127.9.8.7/d", [:], nil),
        ("postgres://u@h/d?sslmode=verify-full", [:], nil), ("postgres://u@h/d?sslmode=verify-c%61", [:], nil),
        ("postgres://u@h/d?hostaddr=127.0.0.1", [:], nil),
        ("postgres://u@h/d?service=x&sslmode=verify-full", [:], nil),
        ("postgres://u@h/d", ["PGSSLMODE": "verify-full"], nil),
        ("postgres://u@h/d", [:], "h"), ("postgres://u@h/d?sslmode=require", [:], "h"),
        ("postgres://u@h/d?sslmode=require", ["PGSSLMODE": "verify-full"], "h"),
        ("postgres://u@h/d?sslmode=verify-full&sslmode=prefer", [:], "h"),
        ("postgres://u@h/d?sslmode=verify-full&ssl=true", [:], "h"),
        ("postgres://127.0.0.1,10.0.0.12/d", [:], "10.0.0.12"),
        ("postgres://localhost%2C10.0.0.12/d", [:], "10.0.0.12"),
        ("postgres://[fd00::1]:1/d", [:], "fd00::1"),
        ("postgres://127.0.0.1.example.org/d", [:], "127.0.0.1.example.org"),
        ("postgres://127.1/d", [:], "127.1"), ("postgres://0127.0.0.1/d", [:], "0127.0.0.1"),
        ("postgres://localhost/d?hostaddr=10.0.0.12", [:], "10.0.0.12"), ("postgres://localhost/d?host=h", [:], "h"),
        ("postgres:///d?host=/run/pg,h", [:], "h"), ("postgres:///d?service=x", [:], "the service 'x'"),
        ("postgres:///d", ["PGHOST": "h"], "h"), ("postgres://localhost/d", ["PGHOSTADDR": "10.0.0.12"], "10.0.0.12"),
        ("postgres://localhost/d", ["PGSERVICE": "x", "PGSSLMODE": "verify-full"], "the service 'x'"),
    ]

    @Test(arguments: hosts)
    func `a host beyond this machine is reached with verified TLS only, unless that is allowed`(
        uri: String, environment: [String: String], host: String?
    ) throws {
        var address = try #require(PostgresAddress(uri))
        #expect(address.exposedHost { environment[$0] } == host)
        address.allowsUnencrypted = true
        #expect(address.exposedHost { environment[$0] } == nil)
    }

    @Test(arguments: [
        ("postgres://u@h/d", []), ("postgres:///d", []), ("postgres://h1,h2/d?hostaddr=127.0.0.1,127.0.0.2", []),
        ("postgres://h1,h2/d", ["h1 ", "h2 "]), ("postgres://h1:1,h2/d", ["h1 1", "h2 "]),
        ("postgres://[fd00::1]:1,%2Frun%2Fpg:2/d", ["fd00::1 1", "/run/pg 2"]),
        ("postgres://h1,h2/d?port=7", ["h1 7", "h2 7"]), ("postgres:///d?host=h1,h2&port=1,2", ["h1 1", "h2 2"]),
        ("postgres://h/d?host=h1,h2,h3&port=1,2", []),
    ])
    func `of several hosts each has its port, as libpq reads them`(uri: String, servers: [String]) throws {
        #expect(try #require(PostgresAddress(uri)).servers.map { "\($0.host) \($0.port)" } == servers)
    }

    @Test func `no connection is made to an exposed host`() throws {
        let address = try #require(PostgresAddress("postgres://bob@db.invalid/d?sslmode=require"))
        let failure = #expect(throws: StoreFailure.self) { try PostgresStore.open(address, name: "a test") }
        #expect(failure?.reason == .invalidAddress && failure?.detail.contains("store.unencrypted_database") == true)
    }

    @Test func `a message of libpq about the address is shown without what it quotes of it`() {
        for message in [#"invalid URI query parameter: "geheim""#, #"invalid percent-encoded token: "ge"heim""#] {
            let failure = StoreFailure(connecting: message, path: "postgres://u@h/d")
            #expect(failure.reason == .invalidAddress && failure.detail.hasPrefix("invalid "), "\(failure)")
            #expect(!failure.detail.contains("heim"), "\(failure)")
        }
    }

    @Test func `an address that leads nowhere says so, without its password`() throws {
        let address = try #require(PostgresAddress("postgres://bob:geheim@127.0.0.1:1/d"))
        let failure = #expect(throws: StoreFailure.self) { try PostgresStore.open(address, name: "a test") }
        #expect(failure?.reason == .unreachable)
        #expect(failure.map { !"\($0)".contains("geheim") } == true)
    }

    @Test func `a realm is a word that needs no quotes`() {
        for realm in ["reveille", "a", "_x1", String(repeating: "a", count: 40)] {
            #expect(PostgresAddress.isRealm(realm), "\(realm)")
        }
        for realm in ["", "1a", "A", "a-b", "pg_x", "a\"b", String(repeating: "a", count: 41)] {
            #expect(!PostgresAddress.isRealm(realm), "\(realm)")
        }
    }
}
