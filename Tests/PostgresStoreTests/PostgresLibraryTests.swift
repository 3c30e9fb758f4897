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
        ("postgresql://bob:ge/heim@h/d?password=geheim&host=/run/pg", "postgresql://bob@h/d?host=/run/pg"),
        ("postgres://bob:ge%40heim@h1,h2/d?sslpassword=geheim", "postgres://bob@h1,h2/d"),
        ("postgres:///d?pass%77ord=geheim", "postgres:///d"), ("geheim", "…"),
    ])
    func `an address is shown without its secrets`(uri: String, shown: String) {
        #expect(PostgresAddress.redacted(uri) == shown)
        #expect(!PostgresAddress.redacted(uri).contains("heim"))
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
