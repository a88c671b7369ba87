/* Handing a text to a caller. */
#ifndef RUNTIME_TEXT_H
#define RUNTIME_TEXT_H

#include "base/bytes.h"
#include "base/error.h"
#include "dsajit/dsajit.h"

/* Moves `bytes` into `text`; OUT_OF_MEMORY, with both empty, when building it had failed. */
dsajit_status text_take(struct bytes *bytes, dsajit_text *text, dsajit_error *error);

#endif
