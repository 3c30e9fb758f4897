#pragma once

#include <stddef.h>

// The part of libpq's interface that the store uses, as libpq-fe.h of PostgreSQL 14 and later declares it. The ABI of
// libpq.so.5 is stable. `PostgresLibraryTests` compile these declarations together with libpq-fe.h.

#ifndef POSTGRESQL_HAS_TYPES
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef unsigned int Oid;
typedef void (*PQnoticeReceiver)(void *, const PGresult *);
#endif

// Values of ConnStatusType and ExecStatusType.
enum {
    POSTGRESQL_CONNECTION_OK = 0,
    POSTGRESQL_COMMAND_OK = 1,
    POSTGRESQL_TUPLES_OK = 2,
    POSTGRESQL_PIPELINE_SYNC = 10,
    POSTGRESQL_PIPELINE_ABORTED = 11,
};

// The field of PQresultErrorField with the SQLSTATE, PG_DIAG_SQLSTATE.
enum { POSTGRESQL_SQLSTATE = 'C', POSTGRESQL_MESSAGE = 'M' };

// F(result, name, parameters). The two enumerations of libpq that functions return are compatible with `unsigned int`.
#define POSTGRESQL_FUNCTIONS(F) \
    F(PGconn *, PQconnectdbParams, (const char *const *keywords, const char *const *values, int expand_dbname)) \
    F(void, PQfinish, (PGconn *)) \
    F(unsigned int, PQstatus, (const PGconn *)) \
    F(char *, PQhost, (const PGconn *)) \
    F(char *, PQport, (const PGconn *)) \
    F(int, PQsocket, (const PGconn *)) \
    F(char *, PQerrorMessage, (const PGconn *)) \
    F(int, PQserverVersion, (const PGconn *)) \
    F(int, PQbackendPID, (const PGconn *)) \
    F(const char *, PQparameterStatus, (const PGconn *, const char *name)) \
    F(int, PQsetnonblocking, (PGconn *, int)) \
    F(PQnoticeReceiver, PQsetNoticeReceiver, (PGconn *, PQnoticeReceiver, void *)) \
    F(int, PQenterPipelineMode, (PGconn *)) \
    F(int, PQexitPipelineMode, (PGconn *)) \
    F(int, PQpipelineSync, (PGconn *)) \
    F(int, PQsendPrepare, (PGconn *, const char *name, const char *query, int count, const Oid *types)) \
    F(int, PQsendQueryPrepared, \
      (PGconn *, const char *name, int count, const char *const *values, const int *lengths, const int *formats, \
       int resultFormat)) \
    F(int, PQsendQuery, (PGconn *, const char *query)) \
    F(PGresult *, PQgetResult, (PGconn *)) \
    F(int, PQconsumeInput, (PGconn *)) \
    F(int, PQisBusy, (PGconn *)) \
    F(int, PQflush, (PGconn *)) \
    F(unsigned int, PQresultStatus, (const PGresult *)) \
    F(char *, PQresultErrorField, (const PGresult *, int field)) \
    F(char *, PQresultErrorMessage, (const PGresult *)) \
    F(char *, PQcmdTuples, (PGresult *)) \
    F(int, PQntuples, (const PGresult *)) \
    F(int, PQnfields, (const PGresult *)) \
    F(char *, PQfname, (const PGresult *, int column)) \
    F(Oid, PQftype, (const PGresult *, int column)) \
    F(int, PQgetisnull, (const PGresult *, int row, int column)) \
    F(char *, PQgetvalue, (const PGresult *, int row, int column)) \
    F(int, PQgetlength, (const PGresult *, int row, int column)) \
    F(void, PQclear, (PGresult *))
