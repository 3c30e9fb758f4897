#pragma once

#include "postgresql_functions.h"

// The functions are not NULL. Of their pointers nothing is said.
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-completeness"

// The functions of libpq.
#define POSTGRESQL_MEMBER(result, name, parameters) result (*_Nonnull name) parameters;
struct postgresql {
    POSTGRESQL_FUNCTIONS(POSTGRESQL_MEMBER)
};

// Loads libpq.so.5 at the first call, so that a program without a PostgreSQL store does not need it. Any thread.
// Returns NULL when it is not installed or lacks a function, with a description in `error`, which stays valid.
const struct postgresql *_Nullable postgresql_load(const char *_Nullable *_Nonnull error);

#pragma clang diagnostic pop
