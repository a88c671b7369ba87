#include "filesystem.h"

#include <linux/magic.h>
#include <stddef.h>
#include <sys/vfs.h>

/* Magic numbers that linux/magic.h lacks are from the file systems' own sources. */
static const struct {
    uint32_t magic;
    const char *type;
    bool remote;
} types[] = {
    {EXT4_SUPER_MAGIC, "ext4", false}, /* ext2 and ext3 have the same */
    {XFS_SUPER_MAGIC, "xfs", false},
    {BTRFS_SUPER_MAGIC, "btrfs", false},
    {F2FS_SUPER_MAGIC, "f2fs", false},
    {0x2fc12fc1, "zfs", false},
    {TMPFS_MAGIC, "tmpfs", false},
    {RAMFS_MAGIC, "ramfs", false},
    {OVERLAYFS_SUPER_MAGIC, "overlayfs", false},
    {SQUASHFS_MAGIC, "squashfs", false},
    {FUSE_SUPER_MAGIC, "fuse", false},
    {V9FS_MAGIC, "9p", true},
    {NFS_SUPER_MAGIC, "nfs", true},
    {CIFS_SUPER_MAGIC, "cifs", true},
    {SMB2_SUPER_MAGIC, "smb2", true},
    {CEPH_SUPER_MAGIC, "ceph", true},
    {0x0bd00bd0, "lustre", true},
    {0x47504653, "gpfs", true},
    {0x19830326, "beegfs", true},
};

bool filesystem_look(const char *path, struct filesystem *filesystem)
{
    struct statfs about;
    if (statfs(path, &about))
        return false;
    *filesystem = (struct filesystem){
        .type = "unknown", .free_bytes = (uint64_t)about.f_bavail * (uint64_t)about.f_bsize};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if ((uint32_t)about.f_type == types[i].magic) {
            filesystem->type = types[i].type;
            filesystem->remote = types[i].remote;
        }
    }
    return true;
}
