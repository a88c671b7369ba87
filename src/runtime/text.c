#include "runtime/text.h"

#include <stdlib.h>

dsajit_status text_take(struct bytes *bytes, dsajit_text *text, dsajit_error *error)
{
    *text = (dsajit_text){0};
    bytes_append(bytes, "", 0); /* so that an empty text has its NUL */
    if (bytes_failed(bytes)) {
        bytes_free(bytes);
        return error_set(error, DSAJIT_ERROR_OUT_OF_MEMORY, "no memory for a text");
    }
    *text = (dsajit_text){(char *)bytes->data, bytes->size};
    *bytes = (struct bytes){0};
    return DSAJIT_OK;
}

void dsajit_text_free(dsajit_text *text)
{
    if (!text)
        return;
    free(text->data);
    *text = (dsajit_text){0};
}
