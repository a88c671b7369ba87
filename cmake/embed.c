/* Host tool of embed.cmake: files in, one C source and its header out. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *path)
{
    fprintf(stderr, "dsajit_embed: %s: %s\n", path, strerror(errno));
    exit(1);
}

static FILE *open_or_fail(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file)
        fail(path);
    return file;
}

static void close_or_fail(FILE *file, const char *path)
{
    if (ferror(file) || fclose(file))
        fail(path);
}

static size_t write_bytes(FILE *out, const char *path, int index)
{
    FILE *in = open_or_fail(path, "rb");
    size_t size = 0;
    int byte;
    fprintf(out, "static const unsigned char file_%d[] = {", index);
    while ((byte = getc(in)) != EOF)
        fprintf(out, "%s%d,", size++ % 24 ? "" : "\n", byte);
    fprintf(out, "\n0};\n");
    close_or_fail(in, path);
    return size;
}

int main(int argc, char **argv)
{
    if (argc < 4 || argc % 2) {
        fprintf(stderr, "usage: dsajit_embed OUT.c OUT.h SYMBOL [NAME FILE]...\n");
        return 2;
    }
    const char *source_path = argv[1], *header_path = argv[2], *symbol = argv[3];
    int count = (argc - 4) / 2;

    FILE *header = open_or_fail(header_path, "w");
    fprintf(header,
            "#include <stddef.h>\n"
            "#ifndef DSAJIT_EMBEDDED_FILE\n"
            "#define DSAJIT_EMBEDDED_FILE\n"
            "struct embedded_file {\n"
            "    const char *name;\n"
            "    const char *bytes;\n"
            "    size_t size;\n"
            "};\n"
            "#endif\n"
            "#ifndef DSAJIT_EMBEDDED_%s\n"
            "#define DSAJIT_EMBEDDED_%s\n"
            "extern const struct embedded_file %s[];\n"
            "extern const size_t %s_count;\n"
            "#endif\n",
            symbol, symbol, symbol, symbol);
    close_or_fail(header, header_path);

    FILE *source = open_or_fail(source_path, "w");
    const char *slash = strrchr(header_path, '/');
    fprintf(source, "#include \"%s\"\n", slash ? slash + 1 : header_path);
    size_t *sizes = calloc((size_t)count + 1, sizeof *sizes);
    if (!sizes)
        fail("memory");
    for (int i = 0; i < count; i++)
        sizes[i] = write_bytes(source, argv[5 + 2 * i], i);
    /* The empty last row keeps the array legal when there are no files. */
    fprintf(source, "const struct embedded_file %s[] = {\n", symbol);
    for (int i = 0; i < count; i++)
        fprintf(source, "{\"%s\", (const char *)file_%d, %zu},\n", argv[4 + 2 * i], i, sizes[i]);
    fprintf(source, "{NULL, NULL, 0}};\nconst size_t %s_count = %d;\n", symbol, count);
    free(sizes);
    close_or_fail(source, source_path);
    return 0;
}
