#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

// A SQLite VFS that gives each page of a database a checksum, in the last 8 bytes of the page. SQLite leaves them to
// the VFS where the header of the database says so (its byte 20, sqlite.org/fileformat2.html). A database without
// these bytes is read and written as it is.
//
// A page is checked when it is read from the database file. A page that does not match fails the read with
// SQLITE_IOERR_DATA. So does a page in the write-ahead log that does not match the checksum of its frame, which SQLite
// itself checks only when it opens the log.
//
// With the parameter verify=0 in the URI of a database, a page that does not match is counted, and read as it is.

// The name of the VFS, which is the system's default one with these checksums.
#define PAGE_CHECKSUMS_VFS "reveille"

// How many bytes at the end of a page SQLite must reserve, by SQLITE_FCNTL_RESERVE_BYTES before the first write.
#define PAGE_CHECKSUM_BYTES 8

// Registers the VFS, which does not become the default. Call it once.
// Returns a SQLite result code.
int page_checksums_register(void);

// The number of the page that the calling thread read last of those that did not match; 0 when there was none.
int64_t page_checksums_last_mismatch(void);

// How many reads of pages that did not match this process has made.
uint64_t page_checksums_mismatches(void);

// Whether the pages of the main database of a connection have checksums.
bool page_checksums_are_kept(struct sqlite3 *connection);

// Has the close of a connection leave the write-ahead log as it is, also when it is the last one. It stands here because
// Swift cannot call a function with variable arguments.
void page_checksums_keep_log(struct sqlite3 *connection);
