/* System calls that fail when a test wants it. The test program is linked with --wrap for each of
   them (FAULTS_WRAPPED in CMakeLists.txt); calls on files below the watched folder are counted, and
   struck when it is their turn. Everything else goes through. */
#ifndef TESTS_CACHE_FAULTS_H
#define TESTS_CACHE_FAULTS_H

enum fault_kind {
    FAULT_NONE,
    FAULT_ERROR, /* fails with `error`, and does nothing; but close closes */
    FAULT_KILL,  /* the process gets SIGKILL before the call */
    FAULT_SHORT, /* read and write do a part of it */
    FAULT_EMPTY, /* read finds the end of the file */
    FAULT_STUB   /* claims to have succeeded, and does nothing */
};

struct fault {
    enum fault_kind kind;
    int error;
    int at;           /* the how manieth watched call, from 1; 0: every one */
    const char *only; /* counts and strikes calls of this function only; NULL: of any */
};

/* From now on. The folder's name must stay valid. Also forgets the count. */
void faults_arm(const char *folder, struct fault fault);
void faults_disarm(void);

/* Watched calls since the last faults_arm; the name of the struck one, NULL when there was none. */
int faults_count(void);
const char *faults_struck(void);

#endif
