#include "CPageChecksums.h"

#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

enum { SMALLEST_PAGE = 512, LARGEST_PAGE = 65536 };

// The header of a database, at the start of its first page (sqlite.org/fileformat2.html).
enum { HEADER_SIZE = 100, PAGE_SIZE_AT = 16, RESERVED_BYTES_AT = 20 };
static const char magic[16] = "SQLite format 3";

// The write-ahead log (sqlite.org/fileformat2.html): a header, then frames of a header and a page each.
enum { LOG_HEADER_SIZE = 32, FRAME_HEADER_SIZE = 24, CHECKSUM_SIZE = 8 };
enum { LOG_CHECKSUM_AT = 24, FRAME_CHECKSUM_AT = 16 };
// Of the shared memory (sqlite.org/walformat.html): the lock of the connection that writes.
enum { WRITE_LOCK = 0 };

// Lies behind the system's own file in the memory that SQLite provides. The methods are the system's own, except for
// those below, and are called with the same file.
struct file_state {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *system;
    // Of a log: its database. The fields below are those of a database.
    sqlite3_file *database;
    // Where the frames of the transaction begin that this connection writes. Until it is committed, SQLite may write
    // them again without their checksums.
    sqlite3_int64 own_frames;
    // 0 while the file has no header: it is new, and its pages get checksums.
    int page_size;
    bool has_checksums;
    // Whether a page that does not match fails the read.
    bool verifies;
};

static sqlite3_vfs *system_vfs;
static _Thread_local int64_t last_mismatch;
static atomic_uint_fast64_t mismatches;

int64_t page_checksums_last_mismatch(void) { return last_mismatch; }

uint64_t page_checksums_mismatches(void) { return atomic_load_explicit(&mismatches, memory_order_relaxed); }

static int system_file_size(void) { return (system_vfs->szOsFile + 7) & ~7; }

static struct file_state *state_of(sqlite3_file *file) {
    return (struct file_state *)((char *)file + system_file_size());
}

static uint64_t word_at(const unsigned char *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

// A bijection of the lane, and of the word: multiplication by an odd number, and an xor with a shift.
static uint64_t mixed(uint64_t lane, uint64_t word) {
    lane = (lane ^ word) * 0x9E3779B97F4A7C15;
    return lane ^ lane >> 29;
}

// The checksum of a page without its last 8 bytes. A change within one word always alters it, and so does another page
// number. Four lanes, because each step waits for the multiplication before it.
static uint64_t checksum(const unsigned char *page, int size, int64_t number) {
    uint64_t lanes[4] = {
        (uint64_t)number ^ 0x243F6A8885A308D3, 0x13198A2E03707344, 0xA4093822299F31D0, 0x082EFA98EC4E6C89};
    int words = size / 8 - 1, word = 0;
    for (; word + 4 <= words; word += 4) {
        for (int lane = 0; lane < 4; lane++) lanes[lane] = mixed(lanes[lane], word_at(page + 8 * (word + lane)));
    }
    for (int lane = 0; word + lane < words; lane++) lanes[lane] = mixed(lanes[lane], word_at(page + 8 * (word + lane)));
    return mixed(mixed(mixed(lanes[0], lanes[1]), lanes[2]), lanes[3]);
}

static bool matches(const unsigned char *page, int size, int64_t number) {
    return word_at(page + size - 8) == checksum(page, size, number);
}

static bool is_page_size(int size) { return size >= SMALLEST_PAGE && size <= LARGEST_PAGE && (size & (size - 1)) == 0; }

// 0 when the header is none. 65536 does not fit the field and is written as 1.
static int page_size_of(const unsigned char *header) {
    int size = header[PAGE_SIZE_AT] << 8 | header[PAGE_SIZE_AT + 1];
    if (size == 1) return LARGEST_PAGE;
    return is_page_size(size) ? size : 0;
}

// Finds out from the first page whether the pages have checksums. One changed byte must not hide that: if the header
// does not reserve the bytes, and the page matches its checksum as soon as it does, the header is damaged.
static void examine(sqlite3_file *file, struct file_state *state) {
    unsigned char page[LARGEST_PAGE];
    state->has_checksums = true;
    state->page_size = 0;
    if (state->system->xRead(file, page, HEADER_SIZE, 0) != SQLITE_OK) return;
    int size = page_size_of(page);
    if (size == 0) return;
    state->page_size = size;
    if (page[RESERVED_BYTES_AT] == PAGE_CHECKSUM_BYTES) return;
    state->has_checksums = false;
    if (state->system->xRead(file, page, size, 0) != SQLITE_OK) return;
    page[RESERVED_BYTES_AT] = PAGE_CHECKSUM_BYTES;
    state->has_checksums = matches(page, size, 1);
}

static int mismatch(const struct file_state *state, int64_t number) {
    last_mismatch = number;
    atomic_fetch_add_explicit(&mismatches, 1, memory_order_relaxed);
    return state->verifies ? SQLITE_IOERR_DATA : SQLITE_OK;
}

static int verify(const struct file_state *state, const unsigned char *page, int size, sqlite3_int64 offset) {
    int64_t number = offset / size + 1;
    if (matches(page, size, number)) return SQLITE_OK;
    // SQLite itself refuses such a file, as no database.
    if (offset == 0 && memcmp(page, magic, sizeof magic) != 0) return SQLITE_OK;
    return mismatch(state, number);
}

// Checks the pages of which a part was read. SQLite reads parts of overflow pages (SQLITE_DIRECT_OVERFLOW_READ).
static int verify_around(sqlite3_file *file, const struct file_state *state, int amount, sqlite3_int64 offset) {
    unsigned char page[LARGEST_PAGE];
    int size = state->page_size;
    for (sqlite3_int64 start = offset - offset % size; start < offset + amount; start += size) {
        int result = state->system->xRead(file, page, size, start);
        if (result == SQLITE_OK) result = verify(state, page, size, start);
        if (result != SQLITE_OK) return result;
    }
    return SQLITE_OK;
}

static int read_checked(sqlite3_file *file, void *buffer, int amount, sqlite3_int64 offset) {
    struct file_state *state = state_of(file);
    int result = state->system->xRead(file, buffer, amount, offset);
    if (result != SQLITE_OK) return result;
    // Another connection may have written the file meanwhile.
    if (state->page_size == 0) examine(file, state);
    // SQLite reads the header alone before it reads the first page.
    if (!state->has_checksums || offset + amount <= HEADER_SIZE) return SQLITE_OK;
    int size = state->page_size == 0 ? amount : state->page_size;
    if (amount == size && is_page_size(size) && offset % size == 0) return verify(state, buffer, size, offset);
    return state->page_size == 0 ? SQLITE_OK : verify_around(file, state, amount, offset);
}

static int write_checked(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset) {
    struct file_state *state = state_of(file);
    const unsigned char *bytes = buffer;
    if (state->page_size == 0) examine(file, state);
    if (offset == 0 && amount >= HEADER_SIZE) {
        bool reserves = bytes[RESERVED_BYTES_AT] == PAGE_CHECKSUM_BYTES;
        // Pages were written before the first one, and their last bytes belong to SQLite.
        if (!reserves && state->has_checksums && state->page_size != 0) return SQLITE_IOERR_WRITE;
        state->has_checksums = reserves;
        state->page_size = page_size_of(bytes);
    } else if (state->page_size == 0) {
        state->page_size = amount;
    }
    if (!state->has_checksums) return state->system->xWrite(file, buffer, amount, offset);
    if (amount != state->page_size || !is_page_size(amount) || offset % amount != 0) return SQLITE_IOERR_WRITE;
    // SQLite's own page is not to be changed.
    unsigned char page[LARGEST_PAGE];
    memcpy(page, bytes, amount - 8);
    uint64_t sum = checksum(page, amount, offset / amount + 1);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    sum = __builtin_bswap64(sum);
#endif
    memcpy(page + amount - 8, &sum, sizeof sum);
    return state->system->xWrite(file, page, amount, offset);
}

static int lock_checked(sqlite3_file *file, int first, int count, int flags) {
    struct file_state *state = state_of(file);
    if (first == WRITE_LOCK && (flags & SQLITE_SHM_EXCLUSIVE) != 0) state->own_frames = INT64_MAX;
    return state->system->xShmLock(file, first, count, flags);
}

static uint32_t big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t little_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[1] << 8 | bytes[0];
}

static void add_to_sums(uint32_t sums[2], const unsigned char *bytes, int count, bool is_big_endian) {
    for (int at = 0; at < count; at += 8) {
        sums[0] += (is_big_endian ? big_endian(bytes + at) : little_endian(bytes + at)) + sums[1];
        sums[1] += (is_big_endian ? big_endian(bytes + at + 4) : little_endian(bytes + at + 4)) + sums[0];
    }
}

// Checks a page against the checksum of its frame, which covers the checksum of the frame before.
static int verify_frame(sqlite3_file *file, const unsigned char *page, int size, sqlite3_int64 offset) {
    const struct file_state *state = state_of(file), *database = state_of(state->database);
    unsigned char log[LOG_HEADER_SIZE], frame[FRAME_HEADER_SIZE];
    int result = state->system->xRead(file, log, sizeof log, 0);
    if (result == SQLITE_OK) result = state->system->xRead(file, frame, sizeof frame, offset - FRAME_HEADER_SIZE);
    if (result != SQLITE_OK) return result;
    unsigned char *before = log + LOG_CHECKSUM_AT;
    if (offset > LOG_HEADER_SIZE + FRAME_HEADER_SIZE) {
        sqlite3_int64 start = offset - size - 2 * FRAME_HEADER_SIZE;
        result = state->system->xRead(file, before, CHECKSUM_SIZE, start + FRAME_CHECKSUM_AT);
        if (result != SQLITE_OK) return result;
    }
    uint32_t sums[2] = {big_endian(before), big_endian(before + 4)};
    bool is_big_endian = log[3] & 1;
    add_to_sums(sums, frame, 8, is_big_endian);
    add_to_sums(sums, page, size, is_big_endian);
    const unsigned char *expected = frame + FRAME_CHECKSUM_AT;
    if (sums[0] == big_endian(expected) && sums[1] == big_endian(expected + 4)) return SQLITE_OK;
    return mismatch(database, big_endian(frame));
}

static int read_log(sqlite3_file *file, void *buffer, int amount, sqlite3_int64 offset) {
    struct file_state *state = state_of(file);
    int result = state->system->xRead(file, buffer, amount, offset);
    if (result != SQLITE_OK || !is_page_size(amount) || offset >= state_of(state->database)->own_frames) return result;
    sqlite3_int64 start = offset - LOG_HEADER_SIZE - FRAME_HEADER_SIZE;
    if (start < 0 || start % (FRAME_HEADER_SIZE + amount) != 0) return SQLITE_OK;
    return verify_frame(file, buffer, amount, offset);
}

static int write_log(sqlite3_file *file, const void *buffer, int amount, sqlite3_int64 offset) {
    struct file_state *state = state_of(file), *database = state_of(state->database);
    if (offset < database->own_frames) database->own_frames = offset;
    return state->system->xWrite(file, buffer, amount, offset);
}

static bool is_checked(sqlite3_file *file) {
    return file != NULL && file->pMethods != NULL && file->pMethods->xRead == read_checked;
}

static int open_checked(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out_flags) {
    (void)vfs;
    int result = system_vfs->xOpen(system_vfs, name, file, flags, out_flags);
    if (result != SQLITE_OK || (flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL)) == 0) return result;
    struct file_state *state = state_of(file);
    state->system = file->pMethods;
    state->methods = *file->pMethods;
    if ((flags & SQLITE_OPEN_WAL) != 0) {
        state->database = sqlite3_database_file_object(name);
        if (!is_checked(state->database)) return SQLITE_OK;
        state->methods.xRead = read_log;
        state->methods.xWrite = write_log;
        file->pMethods = &state->methods;
        return SQLITE_OK;
    }
    state->methods.xRead = read_checked;
    state->methods.xWrite = write_checked;
    state->methods.xShmLock = lock_checked;
    // Without xFetch of version 3, which maps pages into memory.
    if (state->methods.iVersion > 2) state->methods.iVersion = 2;
    state->own_frames = INT64_MAX;
    state->verifies = sqlite3_uri_boolean(name, "verify", 1);
    examine(file, state);
    file->pMethods = &state->methods;
    return SQLITE_OK;
}

bool page_checksums_are_kept(struct sqlite3 *connection) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(connection, "main", SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return false;
    return is_checked(file) && state_of(file)->has_checksums;
}

void page_checksums_keep_log(struct sqlite3 *connection) {
    sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)NULL);
}

int page_checksums_register(void) {
    static sqlite3_vfs vfs;
    // Databases are opened by a URI, which names the VFS. Refused once SQLite runs; Debian builds it with URIs.
    sqlite3_config(SQLITE_CONFIG_URI, 1);
    system_vfs = sqlite3_vfs_find(NULL);
    if (system_vfs == NULL) return SQLITE_ERROR;
    vfs = *system_vfs;
    vfs.pNext = NULL;
    vfs.zName = PAGE_CHECKSUMS_VFS;
    vfs.szOsFile = system_file_size() + (int)sizeof(struct file_state);
    vfs.xOpen = open_checked;
    return sqlite3_vfs_register(&vfs, 0);
}
