#ifndef REVEILLE_WEB_PAGES_H
#define REVEILLE_WEB_PAGES_H

#include <stddef.h>

/// A file of Resources/web, embedded at build time.
typedef struct {
    /// The path below Resources/web: "phone/index.html".
    const char *path;
    const unsigned char *bytes;
    size_t count;
} reveille_web_file;

/// The number of embedded files.
size_t reveille_web_file_count(void);

/// The file at an index below reveille_web_file_count().
reveille_web_file reveille_web_file_at(size_t index);

/// Compresses to the gzip format (RFC 1952), at the highest level.
/// Returns the number of bytes in `output`; 0 when they do not fit into `capacity`, or without memory.
size_t reveille_gzip(const unsigned char *input, size_t count, unsigned char *output, size_t capacity);

#endif
